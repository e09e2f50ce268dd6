# Interpreter threads: a queue, shared variables, a condition; then alarm, fork and pipes.
use strict;
use threads;
use threads::shared;
use Thread::Queue;

my $in = Thread::Queue->new;
my $out = Thread::Queue->new;
my $count : shared = 0;
my @workers = map {
	threads->create(sub {
		while (defined(my $n = $in->dequeue)) {
			{ lock $count; $count++; }
			$out->enqueue($n * $n);
		}
		return threads->tid;
	});
} 1 .. 4;
$in->enqueue($_) for 1 .. 500;
$in->end;
my $ids = 0;
$ids += $_->join for @workers;
my $sum = 0;
while (defined(my $n = $out->dequeue_nb)) { $sum += $n }
print "$count $sum $ids\n";

my $turn : shared = 0;
my @ring = map { my $i = $_; async {
	for my $round (0 .. 49) {
		lock $turn;
		cond_wait($turn) until $turn % 3 == $i;
		$turn++;
		cond_broadcast($turn);
	}
} } 0 .. 2;
$_->join for @ring;
print "$turn\n";

eval {
	local $SIG{ALRM} = sub { die "alarm\n" };
	alarm 1;
	select undef, undef, undef, 30;
};
print $@;
my $pid = open my $child, "-|";
defined $pid or die;
if (!$pid) { print "child\n"; exit 3 }
print <$child>;
close $child;
print $? >> 8, "\n";
