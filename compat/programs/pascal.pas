{ pascal: threads of the run-time library, events, critical sections, locks of many readers. }
{$mode objfpc}{$H+}
program pascal;
uses cthreads, classes, sysutils, syncobjs;
type
  TW = class(TThread)
    id: integer;
    constructor Create(i: integer);
    procedure Execute; override;
  end;
var cs: TCriticalSection; ev: TEvent; sum: int64 = 0; count: longint = 0;
    rw: TMultiReadExclusiveWriteSynchronizer;
threadvar tv: integer;
constructor TW.Create(i: integer);
begin id := i; FreeOnTerminate := false; inherited Create(false); end;
procedure TW.Execute;
var i: integer; s: string;
begin
  tv := id; ev.WaitFor(INFINITE);
  for i := 1 to 2000 do begin
    s := inttostr(i) + ':' + inttostr(tv);
    cs.Enter; inc(sum, length(s)); cs.Leave;
    interlockedincrement(count);
    if i mod 500 = 0 then begin rw.BeginWrite; sleep(1); rw.EndWrite; end
    else if i mod 50 = 0 then begin rw.BeginRead; rw.EndRead; end;
  end;
  try if id mod 2 = 0 then raise Exception.Create('x'); except on e: Exception do interlockedincrement(count); end;
end;
var t: array[1..20] of TW; i: integer; l: TThreadList;
    th: array[1..10] of TThreadID;
function plain(p: pointer): ptrint;
begin l.Add(p); sleep(2); plain := ptrint(p) * 2; end;
var r: int64; e2: TSimpleEvent;
begin
  cs := TCriticalSection.Create; ev := TEvent.Create(nil, true, false, ''); rw := TMultiReadExclusiveWriteSynchronizer.Create;
  for i := 1 to 20 do t[i] := TW.Create(i);
  sleep(20); ev.SetEvent;
  for i := 1 to 20 do begin t[i].WaitFor; t[i].Free; end;
  writeln('sum ', sum, ' count ', count);
  l := TThreadList.Create; r := 0;
  for i := 1 to 10 do th[i] := BeginThread(@plain, pointer(i));
  for i := 1 to 10 do inc(r, WaitForThreadTerminate(th[i], 0));
  writeln('plain ', l.LockList.Count); l.UnlockList;
  e2 := TSimpleEvent.Create;
  if e2.WaitFor(30) = wrTimeout then writeln('timeout');
end.
