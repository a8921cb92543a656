'use strict'
// While no log can be used, records go to standard error. The writer comes back to a log as soon as one can be used.

const { spawn, spawnSync } = require('node:child_process')
const fs = require('node:fs')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { createRandom, newPath, until } = require('@millrace/testkit')
const { LogWriter, lines } = require('..')
const { MemoryLog, checkCounts, collector, failure } = require('./memory-log')

const ROUND_COUNT = process.env.MILLRACE_TESTS === 'long' ? 3000 : 150
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Timers of this process fire at once, until the test ends. @returns {number[]}  the ms that they were started with */
function hurryTimers (t) {
  const { setTimeout } = globalThis
  const started = []
  globalThis.setTimeout = (run, ms) => {
    started.push(ms)
    return setTimeout(run, 0)
  }
  t.teardown(() => { globalThis.setTimeout = setTimeout })
  return started
}

/** What becomes of an attempt to get a log. */
const outcomes = {
  none: () => null,
  throws: () => { throw failure('planned') },
  rejects: async () => { throw failure('planned') },
  'cannot be opened': (random, log) => Object.assign(log, { readyError: failure(['ENOSPC', 'ERR_LOG_LOCKED', 'EACCES'][random(3)]) }),
  'fails at once': (random, log) => Object.assign(log, { failures: [failure('ERR_LOG_CLOSED')] }),
  'fails later': (random, log) => Object.assign(log, { failures: [null, null, failure('ERR_LOG_POISONED')] }),
  'fails for a while': (random, log) => Object.assign(log, { failures: [null, failure('ENOSPC'), failure('EIO')] }),
  'can be used': (random, log) => log
}

tape(`diverted: each record is in one place, in order, whatever the logs do (${ROUND_COUNT} rounds, seed ${seed})`, async (t) => {
  hurryTimers(t)
  const random = createRandom(seed)
  for (let round = 0; round < ROUND_COUNT; round++) {
    const logs = []
    const standardError = collector()
    const names = Object.keys(outcomes)
    let isGood = false
    let isClosed = false
    const create = () => {
      const log = new MemoryLog({ hasAppendSync: random(2) === 0 })
      const outcome = outcomes[isGood ? 'can be used' : names[random(names.length)]](random, log)
      logs.push(log)
      return outcome
    }
    let first
    do {
      try {
        first = await create()
      } catch {
        first = null
      }
    } while (first === null)
    let backCount = 0
    const writer = LogWriter(first, {
      replace: () => isClosed ? t.fail('replace after close') : create(),
      standardError,
      onReport: ({ code }) => { if (code === 'ERR_LOG_WAS_DIVERTED') backCount++ },
      handleSignals: random(2) === 0,
      whenFull: ['write-through', 'wait'][random(2)],
      batch: { count: 1 + random(5), ageMs: 1 },
      queue: { count: 20 }
    })
    const count = 20 + random(200)
    for (let n = 0; n < count; n++) {
      writer.write(String(n), random(10) === 0 ? 'error' : 'info')
      for (let turns = random(4) - 1; turns > 0; turns--) await turn()
      if (random(20) === 0) writer.flush().catch(() => {})
    }
    isGood = true
    // A last record, and another one if that was dropped or went aside.
    let last = count
    writer.write(String(last))
    await until(() => {
      if (logs.some(({ records }) => records.includes(String(last)))) return true
      if (writer.counters().total.queued === 0) writer.write(String(++last))
      return false
    })
    await writer.flush()
    checkCounts(t, writer, `round ${round}`)
    const { total, diverted } = writer.counters()
    const inLogs = logs.flatMap(({ records }) => records)
    const gaps = [...inLogs, ...standardError.lines].filter((text) => text.startsWith('{')).map((text) => JSON.parse(text).gap)
    const sum = (reason) => gaps.filter((gap) => gap.reason === reason).reduce((sum, { count }) => sum + count, 0)
    const numbers = inLogs.filter((text) => !text.startsWith('{')).map(Number)
    const aside = standardError.lines.filter((text) => !text.startsWith('{')).map(Number)
    const wrong = []
    if (numbers.some((n, at) => at > 0 && n <= numbers[at - 1])) wrong.push('in order in the logs')
    if (aside.some((n, at) => at > 0 && n < aside[at - 1])) wrong.push('in order on standard error')
    if (new Set([...numbers, ...aside]).size !== numbers.length + aside.length) wrong.push('twice')
    if (numbers.length + aside.length + total.dropped !== total.submitted) wrong.push('lost')
    if (diverted !== aside.length) wrong.push('counted as diverted')
    // Protected records that a full disk has no room for are no gap.
    if (sum('diverted') > aside.length || (backCount > 0 && sum('diverted') === 0)) wrong.push('the gap')
    const found = { numbers: numbers.length, aside: aside.length, diverted, gap: sum('diverted'), backCount, total }
    if (wrong.length > 0) t.fail(`round ${round}: ${wrong}: ${JSON.stringify(found)}`)
    isClosed = true
    await writer.close()
  }
  t.pass('all rounds')
})

tape('diverted: is tried again at longer and longer intervals, and told once', async (t) => {
  const started = hurryTimers(t)
  const reports = []
  let attemptMax = 0
  const good = new MemoryLog()
  const writer = LogWriter(new MemoryLog({ readyError: failure('EACCES') }), {
    standardError: collector(),
    onReport: (err) => reports.push(err),
    replace: (cause, attempt) => {
      attemptMax = attempt
      if (attempt % 2 === 0) return new MemoryLog({ readyError: failure(attempt < 6 ? 'EACCES' : 'ENOSPC') })
      return attempt < 12 ? null : good
    }
  })
  writer.write('a')
  await until(() => good.records.length > 0)
  t.equal(attemptMax, 13)
  const [, ...intervals] = started
  t.deepEqual(intervals.slice(0, 9), [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000], 'after the timer of the batch')
  t.deepEqual(reports.map(({ code }) => code), ['EACCES', 'ENOSPC', 'ERR_LOG_WAS_DIVERTED'])
  t.match(reports[0].message, /records go to standard error until a log can be opened/)
  t.equal(reports[2].message, 'the log can be written again; meanwhile 1 records went to standard error (planned ENOSPC)')
  t.match(String(good.records[0]), /"msg":"1 records went to standard error"/)
  await writer.close()
})

tape('diverted: without replace there is no way back, and the report says so', async (t) => {
  const reports = []
  const standardError = collector()
  const writer = LogWriter(new MemoryLog({ readyError: failure('EACCES') }), { standardError, onReport: (err) => reports.push(err) })
  await turn()
  writer.write('a')
  t.deepEqual(standardError.lines, ['a'])
  t.match(reports[0].message, /from now on, because there is no option replace/)
  await writer.close()
})

tape('diverted: a log that comes after close is closed', async (t) => {
  const late = new MemoryLog()
  let give
  const writer = LogWriter(new MemoryLog({ readyError: failure('EACCES') }), {
    standardError: collector(),
    onReport: () => {},
    replace: () => new Promise((resolve) => { give = () => resolve(late) })
  })
  await until(() => give !== undefined)
  const closing = writer.close()
  give()
  await closing
  await until(() => late.isClosed)
  t.ok(late.isClosed)
})

tape('opening: 64 MiB wait for the log, more goes to standard error, and a gap record says so', async (t) => {
  const log = new MemoryLog()
  const opened = new Promise((resolve) => { log.ready = resolve })
  const standardError = collector()
  const writer = LogWriter(log, { standardError, whenFull: 'write-through' })
  const record = 'x'.repeat(1024 * 1024)
  for (let n = 0; n < 66; n++) writer.write(record)
  t.equal(standardError.lines.length, 2)
  t.deepEqual([writer.counters().total.dropped, writer.counters().diverted], [0, 2])
  const callBack = await opened
  callBack(null)
  await writer.flush()
  t.equal(log.records.filter((text) => text === record).length, 64)
  t.ok(log.records.some((text) => /"reason":"diverted"/.test(text) && JSON.parse(text).gap.count === 2))
  checkCounts(t, writer)
  await writer.close()
})

tape('opening: what has waited is written before anybody hears that the log is open', async (t) => {
  const log = OffsetLog(newPath('log'), { codec: lines })
  const writer = LogWriter(log)
  for (let n = 0; n < 100; n++) writer.write({ n })
  await log.ready()
  t.equal(await log.count(), 100)
  await writer.close()
  await log.close()
})

const HEAD = `
  const { LogWriter } = require(${JSON.stringify(require.resolve('..'))})
  const { MemoryLog, failure } = require(${JSON.stringify(require.resolve('./memory-log'))})
  const writer = LogWriter(new MemoryLog({ readyError: failure('EACCES') }), { onReport: () => {} })
  const write = (begin, end) => { for (let n = begin; n < end; n++) writer.write({ n, text: 'x'.repeat(100) }) }
`
const numbersOf = (text) => text.split('\n').filter((line) => /^\{"n":\d+,.*\}$/.test(line)).map((line) => JSON.parse(line).n)

tape('standard error: a file, and one that is full', (t) => {
  const file = newPath('stderr')
  const run = (program, fd) => spawnSync(process.execPath, ['-e', HEAD + program], { stdio: ['ignore', 'pipe', fd], encoding: 'utf8' })
  run('setImmediate(() => { write(0, 1000); process.kill(process.pid, "SIGKILL") })', fs.openSync(file, 'w'))
  t.equal(numbersOf(fs.readFileSync(file, 'utf8')).length, 1000)
  if (process.platform === 'linux') {
    const { status, stdout } = run('setImmediate(() => { write(0, 1000); console.log(writer.counters().total.dropped) })', fs.openSync('/dev/full', 'w'))
    t.deepEqual([status, stdout.trim()], [0, '1000'], 'the records are dropped, and counted')
  }
  t.end()
})

tape('standard error: a pipe that is not read for a while does not stop the process, and its lines stay whole', async (t) => {
  const program = `
    process.stderr.write('y'.repeat(100_000) + '\\n')
    setImmediate(() => {
      write(0, 3000)
      const { total } = writer.counters()
      require('node:fs').writeSync(1, total.dropped + ' ' + total.written)
      process.stdin.once('data', () => { write(3000, 4000); process.exit() })
    })
  `
  const child = spawn(process.execPath, ['-e', HEAD + program], { stdio: ['pipe', 'pipe', 'pipe'] })
  const told = await new Promise((resolve) => child.stdout.once('data', (text) => resolve(String(text).split(' ').map(Number))))
  t.ok(told[0] > 0 && told[0] + told[1] === 3000, `${told[0]} are dropped, and counted`)
  let text = ''
  child.stderr.on('data', (chunk) => { text += chunk })
  await until(() => text.includes('\n') && text.endsWith('}\n'))
  child.stdin.write('go on')
  await new Promise((resolve) => child.once('close', resolve))
  const found = numbersOf(text)
  t.deepEqual(found.filter((n) => n >= 3000).length, 1000, 'once it is read again, nothing is dropped')
  t.equal(found.filter((n) => n < 3000).length, told[1], 'what counts as written can be read')
})
