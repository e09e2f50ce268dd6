const { Worker, isMainThread, parentPort, workerData } = require('worker_threads')
const crypto = require('crypto'), fs = require('fs'), http = require('http'), { execFile } = require('child_process')
const { promisify } = require('util')
if (!isMainThread) {
	let s = 0
	for (let i = 0; i < 300000; i++) s = (s * 31 + i + workerData) % 1000003
	const flag = new Int32Array(new SharedArrayBuffer(4))
	Atomics.wait(flag, 0, 0, 10)
	parentPort.postMessage(s)
} else main()
async function main() {
	const all = await Promise.all([...Array(6).keys()].map(i => new Promise((ok, no) => {
		const w = new Worker(__filename, { workerData: i }); w.on('message', ok); w.on('error', no)
	})))
	console.log(all.join(' '))
	const kdf = promisify(crypto.pbkdf2)
	const keys = await Promise.all([...Array(16).keys()].map(i => kdf('k' + i, 's', 5000, 8, 'sha256')))
	console.log(keys.map(k => k.toString('hex')).join(' ').slice(0, 60))
	await Promise.all([...Array(50).keys()].map(i => fs.promises.writeFile('f' + i, 'x'.repeat(i * 100))))
	const sizes = await Promise.all([...Array(50).keys()].map(i => fs.promises.readFile('f' + i)))
	console.log(sizes.reduce((n, b) => n + b.length, 0))
	const server = http.createServer((q, r) => setTimeout(() => r.end(crypto.createHash('md5').update(q.url).digest('hex')), 1))
	await new Promise(ok => server.listen(0, '127.0.0.1', ok))
	const get = i => new Promise((ok, no) => http.get({ port: server.address().port, host: '127.0.0.1', path: '/' + i }, r => {
		let b = ''; r.on('data', d => b += d); r.on('end', () => ok(b === crypto.createHash('md5').update('/' + i).digest('hex')))
	}).on('error', no))
	console.log((await Promise.all([...Array(100).keys()].map(get))).filter(x => x).length)
	server.close()
	console.log((await Promise.all([...Array(8).keys()].map(i => promisify(execFile)('echo', [i])))).map(r => r.stdout.trim()).join(' '))
	console.log((await require('dns').promises.lookup('localhost', { family: 4 })).address)
	process.on('SIGUSR2', () => { console.log('signal'); clearInterval(t) })
	const t = setInterval(() => {}, 1000)
	process.kill(process.pid, 'SIGUSR2')
}
