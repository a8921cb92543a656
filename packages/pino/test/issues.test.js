'use strict'
// What people complain of in pino's own destinations and in pino-roll: each is shown there, and not to happen here.

const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const pino = require('pino')
const tape = require('tape')
const { newPath, temporaryFolder } = require('@millrace/testkit')
const { destination } = require('..')
const { newFolder, readAll, run } = require('./helper')

/** 28 MB with what it needs, so `npm ci` does not bring it: `npm install --no-save pino-roll@4` does. */
const pinoRoll = fs.existsSync(path.join(__dirname, '../../../node_modules/pino-roll')) ? require('pino-roll') : null
const linesOf = (file) => {
  const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
  return text.split('\n').filter(Boolean).map((line) => JSON.parse(line))
}
const ONE_KB = 'x'.repeat(1000)

/** Runs a program with a destination of pino in `to`, and with ours, and gives the messages that each has stored. */
async function compare (program, theirOptions, ourOptions = '{}') {
  const theirs = newPath('file')
  const ours = newFolder()
  const rest = `const logger = pino(to); to.on('ready', main); ${program}`
  const their = run(`const to = pino.destination({ dest: folder, ...${theirOptions} })\n ${rest}`, theirs)
  const our = run(`const to = destination(folder, ${ourOptions}); ${rest}`, ours)
  const messages = (records) => records.map(({ msg }) => msg)
  const stored = { their: messages(linesOf(theirs)), our: messages(await readAll(ours)) }
  return { ...stored, theirStatus: their.status, ourStatus: our.status }
}

tape('pino #2054: lines that were logged before the end of the process', async (t) => {
  const many = 'function main () { for (let n = 0; n < 3; n++) logger.info(String(n)); '
  const buffered = '{ sync: false, minLength: 4096 }'
  const signal = await compare(`${many} process.kill(process.pid, 'SIGTERM') }`, buffered, '{ handleSignals: true }')
  t.deepEqual([signal.their, signal.our], [[], ['0', '1', '2']], 'at SIGTERM')
  const killed = await compare(`${many} logger.error('failed'); process.kill(process.pid, 'SIGKILL') }`, buffered)
  t.deepEqual([killed.their, killed.our], [[], ['0', '1', '2', 'failed']], 'up to an error, at SIGKILL')
})

tape('pino #1400: a log call in an exit handler', async (t) => {
  const exit = "process.on('exit', () => logger.info('bye'));"
  const lost = await compare(`${exit} function main () { logger.info('hello') }`, '{ sync: false, minLength: 4096 }')
  t.deepEqual([lost.their, lost.our], [['hello'], ['hello', 'bye']], 'is lost there')
  const thrown = await compare(`${exit} function main () { logger.info('hello'); to.end() }`, '{ sync: false }')
  t.notEqual(thrown.theirStatus, 0, 'throws there, if the destination was ended')
  t.equal(thrown.ourStatus, 0)
})

tape('pino #2326: the process ends before the destination is open', (t) => {
  const program = "pino(to).fatal('no configuration'); process.exit(3)"
  const file = newPath('file')
  const their = run(`const to = pino.destination({ dest: folder, sync: false }); ${program}`, file)
  t.match(their.stderr, /not ready yet/)
  t.deepEqual(linesOf(file), [])
  const our = run(`const to = destination(folder); ${program}`, newFolder())
  t.equal(our.status, 3)
  t.equal(JSON.parse(our.stderr).msg, 'no configuration')
  t.end()
})

tape('pino #1781: out of memory, slow down, or drop', async (t) => {
  const count = 20_000
  const logMany = (to) => {
    const logger = pino(to)
    for (let n = 0; n < count; n++) logger.info({ n, text: ONE_KB })
  }
  const file = newPath('file')
  const their = pino.destination({ dest: file, sync: false })
  await once(their, 'ready')
  logMany(their)
  t.ok(their._len > 15e6, `${their._len} bytes wait in the memory of pino`)
  their.flushSync()
  their.destroy()
  const folder = newFolder()
  const our = destination(folder)
  await our.ready()
  logMany(our)
  const { queuePeak, total } = our.writer.counters()
  t.ok(queuePeak.bytes <= our.writer.bound.bytes, `${queuePeak.bytes} bytes waited in ours at most`)
  t.equal(total.dropped, 0)
  await our.close()
  t.equal((await readAll(folder)).length, count)
})

tape('pino #2106: a stalled sink, and a backlog that grows', async (t) => {
  const count = 100_000
  // Buffers that nobody needs any more may be counted for a while. What stays is in all samples, so the least counts.
  const step = `
    const { setTimeout: sleep } = require('node:timers/promises')
    const measure = async () => {
      const samples = []
      while (samples.length < 10) {
        await sleep(20)
        global.gc()
        const { heapUsed, external } = process.memoryUsage()
        samples.push(heapUsed + external)
      }
      return Math.min(...samples)
    }
    const begin = async () => {
      const sizes = [await measure()]
      for (let n = 0; n < ${count};) {
        logger.info({ n: n++, text: '${ONE_KB}' })
        if (n % 1000 === 0) await new Promise(setImmediate)
        if (n % ${count / 2} === 0) sizes.push(await measure())
      }
      process.stdout.write(JSON.stringify([sizes[1] - sizes[0], sizes[2] - sizes[1]]))
      process.kill(process.pid, 'SIGKILL')
    }
  `
  const options = { env: { ...process.env, NODE_OPTIONS: '--expose-gc' } }
  const stalled = newPath('stalled.js')
  fs.writeFileSync(stalled, 'module.exports = () => new (require("node:stream").Writable)({ write () {} })\n')
  const their = run(`
    const to = pino.transport({ target: ${JSON.stringify(stalled)} })
    const logger = pino(to)
    ${step}
    to.on('ready', begin)`, '', options)
  const folder = newFolder()
  const our = run(`
    const { Forwarder } = require('@millrace/forwarder')
    const to = destination(folder)
    const logger = pino(to)
    ${step}
    to.ready().then(() => {
      Forwarder(to.log, { sink: () => new Promise(() => {}) })
      begin()
    })`, folder, options)
  t.equal(our.stderr, '')
  const [their1, their2] = JSON.parse(their.stdout)
  const [our1, our2] = JSON.parse(our.stdout)
  t.ok(their1 > 40e6 && their2 > 40e6, `each half of the lines takes ${their1} and ${their2} bytes with pino's transport`)
  t.ok(our1 < 20e6 && our2 < 5e6, `and ${our1} and ${our2} bytes with ours`)
  const found = await readAll(folder)
  t.deepEqual(found.map(({ n }) => n), Array.from(found, (_, n) => n), 'in order')
  t.ok(found.length > count - 8192 - 1, 'and on the disk')
})

tape('pino-roll #114: files of earlier runs count too', async (t) => {
  const folder = temporaryFolder()
  const runCount = pinoRoll ? 4 : 0
  for (let n = 0; n < runCount; n++) {
    // The name has a time in it, as the option dateFormat would give.
    const to = await pinoRoll({ file: path.join(folder, `app-${n}`), size: '1k', limit: { count: 1 } })
    for (let i = 0; i < 10; i++) {
      to.write('x'.repeat(600) + '\n')
      await once(to, 'drain')
    }
    to.end()
    await once(to, 'close')
  }
  if (pinoRoll) t.ok(fs.readdirSync(folder).length >= 4, `${fs.readdirSync(folder).length} files of pino-roll, with a limit of 1`)
  const ours = newFolder()
  for (let n = 0; n < 4; n++) {
    const to = destination(ours, { log: { maxCount: 2 } })
    await to.ready()
    for (let i = 0; i < 3; i++) {
      pino(to).info({ n, i })
      to.reopen()
      await once(to, 'drain')
    }
    await to.close()
  }
  const segments = fs.readdirSync(ours).filter((name) => name.endsWith('.log'))
  t.ok(segments.length <= 2, `${segments.length} segments of ours`)
  t.deepEqual((await readAll(ours)).at(-1).i, 2)
})

tape('pino-roll #170: what lies in the folder does not end the stream', async (t) => {
  const folder = temporaryFolder()
  fs.writeFileSync(path.join(folder, 'current.log'), '')
  const failed = pinoRoll && await pinoRoll({ file: path.join(folder, 'app'), symlink: true }).then(() => null, ({ code }) => code)
  if (pinoRoll) t.equal(failed, 'EEXIST')
  const ours = newFolder()
  fs.mkdirSync(ours)
  fs.writeFileSync(path.join(ours, 'current.log'), '')
  fs.symlinkSync('nowhere', path.join(ours, 'link'))
  const to = destination(ours)
  pino(to).info('kept')
  to.reopen()
  await once(to, 'drain')
  pino(to).info('kept too')
  await to.close()
  t.equal((await readAll(ours)).length, 2)
  t.equal(to.writer.counters().failures, 0)
})
