// Threads with loops, queued calls, pools, timers, a process.
#include <QCoreApplication>
#include <QMutex>
#include <QProcess>
#include <QSemaphore>
#include <QThread>
#include <QThreadPool>
#include <QTimer>
#include <QWaitCondition>
#include <QtConcurrent>
#include <iostream>

int main(int argc, char **argv)
{
	QCoreApplication app(argc, argv);
	QList<int> in;
	for (int i = 0; i < 1000; i++)
		in << i;
	std::cout << QtConcurrent::blockingMappedReduced<long>(in, +[](const int &i) { return long(i) * i; }, +[](long &s, const long &x) { s += x; }) << '\n';
	QSemaphore free(4), used;
	long sum = 0;
	int ring[4];
	QThread *p = QThread::create([&] { for (int i = 0; i < 500; i++) { free.acquire(); ring[i % 4] = i; used.release(); } });
	QThread *c = QThread::create([&] { for (int i = 0; i < 500; i++) { used.acquire(); sum += ring[i % 4]; free.release(); } });
	p->start(), c->start();
	p->wait(), c->wait();
	std::cout << sum << '\n';
	QThread worker;
	QObject there;
	there.moveToThread(&worker);
	worker.start();
	int calls = 0;
	for (int i = 0; i < 200; i++)
		QMetaObject::invokeMethod(&there, [&] { QMetaObject::invokeMethod(&app, [&] { if (++calls == 200) app.quit(); }, Qt::QueuedConnection); }, Qt::QueuedConnection);
	app.exec();
	int blocking = 0;
	for (int i = 0; i < 50; i++)
		QMetaObject::invokeMethod(&there, [&] { blocking++; }, Qt::BlockingQueuedConnection);
	worker.quit();
	worker.wait();
	std::cout << calls << ' ' << blocking << '\n';
	int ticks = 0;
	QTimer t;
	QObject::connect(&t, &QTimer::timeout, [&] { if (++ticks == 20) app.quit(); });
	t.start(2);
	app.exec();
	QProcess child;
	child.start("cat", QStringList());
	child.write("through a child");
	child.closeWriteChannel();
	child.waitForFinished();
	std::cout << ticks << ' ' << child.readAll().toStdString() << '\n';
}
