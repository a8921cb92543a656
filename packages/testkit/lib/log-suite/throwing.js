'use strict'
// The part of the log suite about consumers whose callbacks throw. What they throw is theirs: it must come out once, as
// an uncaught exception, and must disturb nobody else.

const path = require('node:path')
const { nextTick } = require('node:process')
const { setImmediate } = require('node:timers')
const { temporaryFolder, until } = require('../tools')
const { deleteSome } = require('./helpers')

/**
 * @typedef {(err?: any, result?: any) => void} Callback
 * @typedef {object} ThrowingCall
 * @property {(log: any, cb: Callback, seqs: any[]) => unknown} run  Makes the call. A promise that it returns must be
 *   resolved although `cb` throws.
 * @property {(log: any) => unknown} [finish]  Makes calls answer that wait for something else.
 * @property {boolean} [isLast]  Whether the call closes the log.
 */

/** Records of the log; the last one is deleted. */
const VALUES = ['a', 'b', 'c', 'd', 'e']
const FEW_TURNS = 5
/** After so many turns of the event loop, what has not answered is waited for with a timer. */
const TURN_COUNT = 200

/** @type {Record<string, ThrowingCall['run'] | ThrowingCall>} */
const CALLS = {
  ready: (log, cb) => log.ready(cb),
  append: (log, cb) => log.append('f', cb),
  'append of a batch': (log, cb) => log.append(['f', 'g'], cb),
  'append of nothing': (log, cb) => log.append([], cb),
  'append with seqs': (log, cb) => log.append(['f'], { seqs: true }, cb),
  'append that fails': (log, cb) => log.append(undefined, cb),
  'append with a wrong option': (log, cb) => log.append('f', { seq: true }, cb),
  drained: (log, cb) => {
    log.append('f', () => {})
    log.drained(cb)
  },
  get: (log, cb, [seq]) => log.get(seq, cb),
  'get with options': (log, cb, [seq]) => log.get(seq, {}, cb),
  'get with a signal': (log, cb, [, seq]) => log.get(seq, { signal: new AbortController().signal }, cb),
  'get of no record': (log, cb) => log.get(2 ** 40, cb),
  'get of a deleted record': (log, cb, seqs) => log.get(seqs[4], cb),
  getMany: (log, cb, seqs) => log.getMany(seqs, cb),
  'getMany that fails': (log, cb, [seq]) => log.getMany([seq, 2 ** 40], cb),
  first: (log, cb) => log.first(cb),
  last: (log, cb) => log.last({ seqs: false }, cb),
  count: (log, cb) => log.count(cb),
  'a read that is aborted': (log, cb) => {
    const controller = new AbortController()
    log.count({ signal: controller.signal }, cb)
    controller.abort()
  },
  scan: (log, cb) => log.scan({}, () => {}, cb),
  'scan that awaits its function': (log, cb) => log.scan({}, async () => {}, cb),
  'scan that is ended by its function': (log, cb) => log.scan({}, async () => false, cb),
  'scan that fails': (log, cb) => log.scan({}, () => { throw new Error('of the function') }, cb),
  'scan whose function is rejected': (log, cb) => log.scan({}, async () => { throw new Error('of the function') }, cb),
  'stream, and reads on': (log, cb) => readOn(log.stream(), cb),
  'stream in reverse, and reads on': (log, cb) => readOn(log.stream({ reverse: true }), cb),
  'the end of a stream': (log, cb) => log.stream({ limit: 0 })(null, cb),
  'the failure of a stream': (log, cb) => log.stream({ gt: 'wrong' })(null, cb),
  'the abort of a stream': (log, cb) => log.stream()(true, cb),
  'a read that an abort ends': (log, cb) => {
    const source = log.stream({ old: false, live: true })
    source(null, cb)
    source(true, () => {})
  },
  'a stream whose signal is aborted': (log, cb) => {
    const controller = new AbortController()
    log.stream({ live: true, old: false, signal: controller.signal })(null, cb)
    setImmediate(() => controller.abort())
  },
  'a live stream': {
    run: (log, cb) => log.stream({ old: false, live: true })(null, cb),
    finish: async (log) => {
      await turns()
      await log.append('f')
    }
  },
  'a live stream that closing ends': {
    run: (log, cb) => log.stream({ old: false, live: true })(null, cb),
    finish: async (log) => {
      await log.ready()
      await turns()
      log.close()
    },
    isLast: true
  },
  del: (log, cb, seqs) => log.del(seqs[4], cb),
  'del that fails': (log, cb) => log.del(2 ** 40, cb),
  sync: (log, cb) => {
    log.append('f', () => {})
    log.sync(cb)
  },
  stats: (log, cb) => log.stats(cb),
  measureReclaimable: (log, cb) => log.measureReclaimable(cb),
  compact: (log, cb) => log.compact(cb),
  snapshot: (log, cb) => log.snapshot(path.join(temporaryFolder(), 'snapshot'), cb),
  toSink: (log, cb) => log.toSink(cb)(sourceOf(['f', 'g'])),
  'toSink whose source fails': (log, cb) => log.toSink(cb)((/** @type {any} */ abort, /** @type {any} */ cb) => cb(abort ?? new Error('of the source'))),
  'write of a Writable': (log, cb) => log.toWritable().on('error', () => {}).write('f', cb),
  'end of a Writable': (log, cb) => log.toWritable({ flush: true }).on('error', () => {}).end('f', cb),
  close: { run: (log, cb) => log.close(cb), isLast: true },
  'close beside other calls': {
    run: (log, cb, [seq]) => {
      log.append('f', cb)
      log.close(() => {})
    },
    isLast: true
  }
}

/** @param {import('../log-suite').Suite} suite */
function addThrowTests ({ test }) {
  for (const [title, call] of Object.entries(CALLS)) {
    test(titleOf(title), async (t, log, create) => checkThrows(t, create, call, await fill(log)))
  }

  test('throw: a listener of since', async (t, log) => {
    await log.ready()
    /** @type {number[]} */
    const heard = []
    const thrown = await collectThrown(async () => {
      log.since(() => { throw new Error('planned') }, false)
      log.since((/** @type {number} */ seq) => { heard.push(seq) }, false)
      const seqs = [await log.append('a'), await log.append('b')]
      t.deepEqual(heard, seqs, 'the next listener runs')
      await closes(log)
    })
    t.deepEqual(thrown, { exceptions: ['planned', 'planned'], rejections: [] })
  })
}

/**
 * @typedef {object} ThrowSuite
 * @property {string} name  begins the titles
 * @property {() => Promise<{ create: () => any, seqs: any[] }>} prepare  Makes a log in a fresh folder. `create` opens
 *   it; `seqs` are of its records, and the last one is deleted.
 * @property {string[]} [names]  Calls of `testLog` to check, such as 'get'.
 * @property {Record<string, ThrowingCall['run'] | ThrowingCall>} [calls]  others, by their titles
 */

/**
 * Checks what `testLog` checks of callbacks that throw, for the calls that only some logs have, and for what is no Log.
 * @param {any} tape
 * @param {ThrowSuite} suite
 */
function testThrows (tape, { name, prepare, names = [], calls = {} }) {
  const known = names.map((title) => [title, CALLS[title]])
  for (const [title, call] of Object.entries({ ...Object.fromEntries(known), ...calls })) {
    tape(`${name}: ${titleOf(title)}`, async (/** @type {any} */ t) => {
      const { create, seqs } = await prepare()
      await checkThrows(t, create, call, seqs)
    })
  }
}

/** @param {string} title */
function titleOf (title) {
  return `throw: the callback of ${title}`
}

/**
 * Calls three times, and the second callback throws: while the log is opened, once it is open, and after it was closed.
 * Then the others are called back, later calls answer, and closing ends and releases the lock.
 * @param {any} t  a test of tape
 * @param {() => any} create  opens the log again
 * @param {ThrowingCall['run'] | ThrowingCall} call
 * @param {any[]} seqs  of what `run` reads
 */
async function checkThrows (t, create, call, seqs) {
  const given = typeof call === 'function' ? { run: call } : call
  for (const stage of ['opening', 'open', 'closed']) {
    const log = create()
    if (stage !== 'opening') await log.ready()
    if (stage === 'closed') await log.close()
    /** @type {string[]} */
    const answers = []
    const closed = { run: given.run, isLast: true }
    const thrown = await collectThrown(() => callThrowing(log, stage === 'closed' ? closed : given, seqs, answers))
    t.deepEqual(thrown, { exceptions: ['planned'], rejections: [] }, `${stage}: what was thrown comes out once`)
    const expected = ['before', 'beside', 'thrower']
    if (!given.isLast && stage !== 'closed') expected.push('later')
    t.deepEqual([...answers].sort(), expected.sort(), `${stage}: each is called back once`)
  }
  const again = create()
  await again.ready()
  t.pass('the lock was released')
  await again.close()
}

/** @type {(log: any, call: ThrowingCall, seqs: any[], answers: string[]) => Promise<void>} */
async function callThrowing (log, { run, finish = () => {}, isLast }, seqs, answers) {
  const work = (/** @type {string} */ name) => guard(() => run(log, () => {
    answers.push(name)
    if (name === 'thrower') throw new Error('planned')
  }, seqs))
  const works = [work('before'), work('thrower'), work('beside')]
  await finish(log)
  await reached(() => answers.length >= 3)
  await settled(works)
  if (!isLast) {
    const later = work('later')
    await finish(log)
    await reached(() => answers.length >= 4)
    await settled([later])
  }
  await closes(log)
}

/** What a callback throws before its call returns reaches the caller, who throws it on. @param {() => unknown} run */
function guard (run) {
  try {
    return run()
  } catch (err) {
    nextTick(() => { throw err })
  }
}

/** As `until`, but most logs answer at once. @param {() => boolean} isTrue */
async function reached (isTrue) {
  for (let count = 0; count < TURN_COUNT && !isTrue(); count++) await turn()
  await until(isTrue)
}

/** @param {unknown[]} works */
async function settled (works) {
  let isDone = false
  Promise.all(works).then(() => { isDone = true })
  await reached(() => isDone)
}

/** @param {any} log */
async function closes (log) {
  await settled([log.close()])
}

/** @returns {Promise<void>} */
function turn () {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Lets what is due happen. */
async function turns () {
  for (let count = 0; count < FEW_TURNS; count++) await turn()
}

/**
 * Runs a function while what nobody catches is collected.
 * @param {() => Promise<void>} run
 * @returns {Promise<{ exceptions: string[], rejections: string[] }>}  messages of uncaught exceptions, and of
 *   rejections that nobody handles
 */
async function collectThrown (run) {
  const events = ['uncaughtException', 'unhandledRejection']
  const before = events.map((event) => process.listeners(/** @type {any} */ (event)))
  /** @type {string[][]} */
  const collected = [[], []]
  for (const [index, event] of events.entries()) {
    process.removeAllListeners(event)
    process.on(event, (/** @type {any} */ err) => { collected[index].push(err?.message ?? String(err)) })
  }
  try {
    await run()
    await turns()
  } finally {
    for (const [index, event] of events.entries()) {
      process.removeAllListeners(event)
      for (const listener of before[index]) process.on(event, /** @type {any} */ (listener))
    }
  }
  return { exceptions: collected[0], rejections: collected[1] }
}

/** @param {any} log @returns {Promise<number[]>} */
async function fill (log) {
  const seqs = []
  for (const value of VALUES) seqs.push(await log.append(value))
  await deleteSome(log, seqs.slice(-1))
  await log.close()
  return seqs
}

/** Reads on after the first answer, whatever the callback does. @type {(source: any, cb: Callback) => Promise<void>} */
function readOn (source, cb) {
  /** @type {() => void} */
  let hasEnded = () => {}
  /** @type {Promise<void>} */
  const end = new Promise((resolve) => { hasEnded = resolve })
  const readRest = () => source(null, (/** @type {any} */ end) => end ? hasEnded() : readRest())
  source(null, (/** @type {any} */ end) => {
    if (end) hasEnded()
    else setImmediate(readRest)
    cb()
  })
  return end
}

/** A pull-stream source. @param {unknown[]} values */
function sourceOf (values) {
  const left = [...values]
  return (/** @type {any} */ abort, /** @type {any} */ cb) => {
    if (abort || left.length === 0) cb(abort || true)
    else cb(null, left.shift())
  }
}

exports.addThrowTests = addThrowTests
exports.testThrows = testThrows
exports.collectThrown = collectThrown
