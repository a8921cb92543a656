'use strict'
// However a process ends, its records are in the log: all of them if there is time for one last write, otherwise all
// but those that were in memory, which are bounded.

const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, newPath } = require('@millrace/testkit')
const { lines } = require('..')

const HEAD = `
  const { LogWriter, lines } = require(${JSON.stringify(require.resolve('..'))})
  const { OffsetLog } = require('@millrace/offset-log')
  const [, file] = process.argv
  const log = OffsetLog(file, { codec: lines })
  const create = (options) => LogWriter(log, options)
  const writeMany = (writer, count, begin = 0) => { for (let n = begin; n < begin + count; n++) writer.write({ n }) }
`

function run (program, ...parameters) {
  const { status, signal, stderr } = spawnSync(process.execPath, ['-e', HEAD + program, ...parameters], { encoding: 'utf8', cwd: __dirname })
  return { status, signal, stderr }
}

async function readAll (file) {
  const log = OffsetLog(file, { flags: 'r', codec: lines })
  const found = (await collect(log.stream({ seqs: false }))).map(({ n }) => n)
  await log.close()
  return found
}

const upTo = (count) => Array.from({ length: count }, (_, n) => n)

const endings = {
  'has nothing more to do': 'log.ready(() => writeMany(create(), 1000))',
  'calls process.exit': 'log.ready(() => { writeMany(create(), 1000); process.exit() })',
  'calls process.exit with a batch in flight': 'log.ready(() => { writeMany(create(), 600); process.nextTick(() => { writeMany(create(), 400, 600); process.exit() }) })',
  throws: 'log.ready(() => { writeMany(create(), 1000); throw new Error("planned") })',
  'rejects a promise': 'log.ready(() => { writeMany(create(), 1000); Promise.reject(new Error("planned")) })',
  'writes in an exit handler before the writer has': 'process.on("exit", () => writeMany(writer, 1000)); const writer = create(); log.ready(() => process.exit())',
  'writes in an exit handler after the writer has': 'const writer = create(); process.on("exit", () => writeMany(writer, 1000)); log.ready(() => process.exit())',
  'gets SIGTERM': 'log.ready(() => { writeMany(create({ handleSignals: true }), 1000); process.kill(process.pid, "SIGTERM") })',
  'gets SIGINT': 'log.ready(() => { writeMany(create({ handleSignals: true }), 1000); process.kill(process.pid, "SIGINT") })',
  'closes the writer': 'log.ready(() => { const writer = create(); writeMany(writer, 1000); writer.close() })',
  'closes the writer and exits': 'log.ready(() => { const writer = create(); writeMany(writer, 1000); writer.close(); process.exit() })',
  'flushes and is killed': 'log.ready(() => { const writer = create(); writeMany(writer, 1000); writer.flushSync(); process.kill(process.pid, "SIGKILL") })'
}

for (const [what, program] of Object.entries(endings)) {
  tape(`process end: nothing is lost if the process ${what}`, async (t) => {
    const file = newPath('log')
    const { signal, stderr } = run(program, file)
    t.deepEqual(await readAll(file), upTo(1000))
    if (what.startsWith('gets')) t.equal(signal, what.slice(5), 'it ends as it would have')
    if (!/throws|rejects/.test(what)) t.equal(stderr, '')
    const log = OffsetLog(file, { codec: lines })
    await log.ready()
    t.deepEqual(log.recovery?.damage ?? [], [])
    await log.close()
  })
}

tape('process end: if somebody else listens to the signal, that one decides', async (t) => {
  const file = newPath('log')
  const { status } = run(`log.ready(() => {
    const writer = create({ handleSignals: true })
    process.on('SIGTERM', () => { writeMany(writer, 10, 10); setTimeout(() => process.exit(7), 20) })
    writeMany(writer, 10)
    process.kill(process.pid, 'SIGTERM')
    setTimeout(() => {}, 5000)
  })`, file)
  t.equal(status, 7)
  t.deepEqual(await readAll(file), upTo(20))
})

tape('process end: records that came before the log was open go to standard error', async (t) => {
  const file = newPath('log')
  const { stderr } = run('writeMany(create(), 3); process.exit()', file)
  t.deepEqual(stderr.trim().split('\n').map((text) => JSON.parse(text).n), [0, 1, 2])
})

tape('process end: a worker thread that ends writes its records', async (t) => {
  const file = newPath('log')
  run(`log.close(() => {
    const { Worker } = require('node:worker_threads')
    const program = ${JSON.stringify(HEAD)}.replace('process.argv', "['', require('worker_threads').workerData]")
    new Worker(program + 'log.ready(() => { writeMany(create(), 1000); process.exit() })', { eval: true, workerData: file })
  })`, file)
  t.deepEqual(await readAll(file), upTo(1000))
})

const KILL_COUNT = Number(process.env.KILL_COUNT ?? 8)

tape(`process end: SIGKILL takes at most the bound, and nothing up to an eager record (${KILL_COUNT} kills)`, async (t) => {
  const program = `
    const fs = require('node:fs')
    const writer = create({ queue: { count: 64 }, batch: { count: 16 } })
    let n = 0
    // Tells what was submitted, and what an eager record has flushed.
    const tell = (kind, n) => fs.writeSync(1, kind + n + '\\n')
    const step = () => {
      for (let count = 0; count < 50; count++) writer.write({ n: n++ })
      tell('s', n)
      if (n % 200 === 0) { writer.write({ n: n++ }, 'error'); tell('e', n) }
      setImmediate(step)
    }
    log.ready(step)
  `
  for (let round = 0; round < KILL_COUNT; round++) {
    const file = newPath('log')
    const child = spawn(process.execPath, ['-e', HEAD + program, file], { cwd: __dirname, stdio: ['ignore', 'pipe', 'inherit'] })
    let told = ''
    child.stdout.on('data', (text) => {
      told += text
      if (told.length > 500 + 300 * round) child.kill('SIGKILL')
    })
    await once(child, 'close')
    const last = (kind) => Number(told.match(new RegExp(`^${kind}(\\d+)\\n`, 'gm'))?.at(-1).slice(1) ?? 0)
    const found = await readAll(file)
    t.deepEqual(found, upTo(found.length), 'in order, none missing in between')
    t.ok(found.length >= last('e'), `${found.length} of ${last('e')} that an eager record has flushed`)
    t.ok(found.length >= last('s') - 64, `${found.length} of ${last('s')} submitted`)
  }
})

tape('drained: while a program waits for it, a log that fails for a moment is tried again; nothing goes to standard error', async (t) => {
  const program = `
    const failing = new Set(['append', 'appendSync', 'flushSync'])
    let isFailing = true
    const fail = (...parameters) => {
      const err = Object.assign(new Error('EIO: planned'), { code: 'EIO' })
      const cb = parameters.at(-1)
      if (typeof cb !== 'function') throw err
      setTimeout(() => { isFailing = false }, 100).unref()
      setImmediate(cb, err)
    }
    const passing = new Proxy(log, {
      get (target, name) {
        if (isFailing && failing.has(name)) return fail
        const value = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      }
    })
    async function main (options) {
      await log.ready()
      const writer = LogWriter(passing, { queue: { count: 4 }, whenFull: 'wait', onReport: () => {} })
      writeMany(writer, 8)
      await writer.drained(options)
    }
    main(process.argv[2] === 'unref' ? { unref: true } : {})`
  for (const [word, expected] of [['ref', upTo(8)], ['unref', []]]) {
    const file = newPath('log')
    const { status, stderr } = run(program, file, word)
    t.deepEqual([status, await readAll(file)], [0, expected], word)
    t.equal(stderr.includes('"n":7'), expected.length === 0, stderr)
  }
})
