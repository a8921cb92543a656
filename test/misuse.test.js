'use strict'
// Every asynchronous call of what is public, with arguments of every wrong kind: none of them throws before it returns,
// none is silent, each failure has a code, and what was called works on. The calls are found, not listed: what is new
// is tested too. Constructors and the calls that answer at once may throw, and are named here.

const { EventEmitter } = require('node:events')
const http = require('node:http')
const { PassThrough } = require('node:stream')
const { Worker } = require('node:worker_threads')
const { fastify } = require('fastify')
const tape = require('tape')
const { Forwarder, httpSink, otlpSink, ship, verifyShipped, writableSink } = require('@millrace/forwarder')
const { createFlumeView, createIndex, listRuns, removeRuns } = require('@millrace/index')
const { createIngest, createKey, ingest, listKeys, revokeKey } = require('@millrace/ingest')
const { JetStreamLog } = require('@millrace/jetstream')
const { jsonCodec } = require('@millrace/json-codec')
const { LogWriter, lines } = require('@millrace/log-writer')
const { ThreadWriter } = require('@millrace/log-writer/threads')
const { MergedLog, SlotLog } = require('@millrace/merged-log')
const { convert, openSource } = require('@millrace/migrate')
const { OffsetLog } = require('@millrace/offset-log')
const pino = require('@millrace/pino')
const transport = require('@millrace/pino/transport')
const { accept, repair, verify } = require('@millrace/repair')
const { SegmentedLog, findMissingSegments, listSegments } = require('@millrace/segmented-log')
const { newPath, temporaryFolder } = require('@millrace/testkit')
const { createView } = require('@millrace/view')
const { open } = require('millrace')
const { startFakeServer } = require('../packages/jetstream/test/fake/server')

// Some of the wrong arguments are paths of new files.
process.chdir(temporaryFolder())

const planned = new Error('planned')
/** Every property of it, but those that the language asks for, throws. */
const throwing = new Proxy({}, {
  get: (_, name) => {
    if (typeof name === 'symbol' || name === 'then') return undefined
    throw planned
  },
  ownKeys: () => { throw planned }
})
/** It cannot be turned into text. */
const textless = { toString () { throw planned }, valueOf () { throw planned } }
const WRONG = [undefined, null, 5, -1, NaN, Infinity, 2 ** 53, 0.5, 'x', '', true, 0n, Symbol('wrong'), {}, { wrong: 1 }, [], [undefined],
  [null], [0, Symbol('wrong')], Object.create(null), new Date(NaN), new Map(), textless, [textless], [0, textless], throwing, [throwing]]
const OPTIONS = ['where', 'signal', 'seqs', 'limit', 'gt', 'live', 'onCorrupt', 'if', 'drain', 'after', 'upTo', 'time', 'codec', 'storage', 'out', 'log',
  'path', 'framing', 'timeoutMs', 'sync']
const AS_OPTION = [null, -1, NaN, Symbol('wrong'), {}, [null], Object.create(null), textless, throwing, { where: textless }]
const TURNS_MAX = 400
/** Some wait for a disk. */
const WAITS_MAX = 3000

/**
 * @typedef {object} Subject
 * @property {() => any} make
 * @property {string[]} now  calls that answer at once, so that they may throw; and those that end it
 * @property {Record<string, any[]>} [good]  arguments of calls, so that each of them may be the wrong one; none by
 *   default
 * @property {boolean} [hasNoCallbacks]
 * @property {boolean} [hasNoPromises]
 * @property {(object: any) => Promise<unknown>} works
 * @property {string} [end]  the call that ends it; 'close' by default
 */

const NOW = ['toJSON', 'openAgain', 'stream', 'toReadable', 'toWritable', 'toSink', 'since', 'durable', 'flushSync', 'appendSync', 'compactionProgress', 'dropped']
const LOG_CALLS = { append: ['good', {}], get: [0, {}], getMany: [[0], {}], first: [{}], last: [{}], count: [{}], scan: [{}, () => {}], del: [2 ** 40],
  explain: [{}], partitions: [1], snapshot: ['', {}], dropBefore: [0], hold: ['x', 0], release: ['x'] }
const worksAs = (log) => log.append('good').then(() => log.count())
const createLog = (options) => OffsetLog(newPath('log'), { codec: jsonCodec, ...options })
const index = () => createIndex(['type'])

/** @param {any} log  to write @param {(folder: string) => any} openReader */
async function reader (log, openReader) {
  await log.append('good')
  await log.close()
  const reader = openReader(log.filename)
  await reader.ready()
  return reader
}

/** A thread that owns a log writer, and the writer of this thread. */
async function threadWriter () {
  const [writers, threads, logs] = ['log-writer', 'log-writer/threads', 'offset-log'].map((name) => {
    return JSON.stringify(require.resolve(`@millrace/${name}`))
  })
  const code = `
    const log = require(${logs}).OffsetLog(${JSON.stringify(newPath('log'))})
    const channel = require(${threads}).shareWriter(require(${writers}).LogWriter(log)).connect()
    require('node:worker_threads').parentPort.postMessage(channel, [channel.port])
    setInterval(() => {}, 1000)`
  const worker = new Worker(code, { eval: true })
  const channel = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  return ThreadWriter(channel)
}

/** What each sink does with a value, and with what a function of the user gives in its place. */
async function sinks () {
  const server = http.createServer((request, response) => request.resume().on('end', () => response.end()))
  const url = await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`)))
  const context = () => ({ signal: new AbortController().signal, key: 'x', log: 'x', attempt: 1 })
  const send = (sink, value) => sink.send([{ seq: 0, value }], context())
  const stream = () => new PassThrough().resume()
  return {
    http: (value) => send(httpSink(url), value),
    'http, formatted': (value) => send(httpSink(url, { format: () => value }), 'x'),
    otlp: (value) => send(otlpSink(url), value),
    'otlp, in protobuf': (value) => send(otlpSink(url, { encoding: 'protobuf' }), value),
    'otlp, mapped': (value) => send(otlpSink(url, { map: () => value }), 'x'),
    'otlp, mapped, in protobuf': (value) => send(otlpSink(url, { map: () => value, encoding: 'protobuf' }), 'x'),
    writable: (value) => send(writableSink(stream), value),
    'writable, formatted': (value) => send(writableSink(stream, { format: () => value }), 'x'),
    'writable that is made': (value) => send(writableSink(() => value), 'x')
  }
}

async function plugin (options) {
  const app = fastify()
  app.register(async (app) => await ingest(app, options))
  await app.ready().finally(() => app.close())
}

/** @type {Record<string, Subject>} */
const SUBJECTS = {
  ...Object.fromEntries(['checked', 'lines', 'offset32'].map((framing) => {
    return [`a log (${framing})`, { make: () => createLog({ framing, index: index() }), now: NOW, good: LOG_CALLS, works: worksAs }]
  })),
  'a strict log without an index': { make: () => createLog({ strict: true }), now: NOW, good: LOG_CALLS, works: worksAs },
  'a log for reading': {
    make: () => reader(createLog(), (file) => OffsetLog(file, { codec: jsonCodec, index: index(), flags: 'r' })),
    now: NOW,
    good: LOG_CALLS,
    works: (log) => log.count()
  },
  'a segmented log': {
    make: () => SegmentedLog(newPath('segments'), { codec: jsonCodec, index: index(), time: ['time'] }), now: NOW, good: LOG_CALLS, works: worksAs
  },
  'a segmented log for reading': {
    make: () => reader(SegmentedLog(newPath('segments'), { codec: jsonCodec }), (folder) => SegmentedLog(folder, { codec: jsonCodec, flags: 'r' })),
    now: NOW,
    good: LOG_CALLS,
    works: (log) => log.count()
  },
  'a log in a slot': {
    make: () => SlotLog(newPath('slots'), { codec: jsonCodec, index: index() }),
    now: NOW,
    good: LOG_CALLS,
    works: (log) => log.append('good')
  },
  'a merged log': {
    make: () => reader(SlotLog(newPath('slots'), { codec: jsonCodec }), (folder) => MergedLog(folder, { codec: jsonCodec, index: index() })),
    now: [...NOW, 'eachSlot'],
    good: { ...LOG_CALLS, get: ['0:0', {}], getMany: [['0:0'], {}] },
    works: (log) => log.count()
  },
  'a log that open gave': { make: () => open(newPath('a.log')), now: [...NOW, 'view'], good: LOG_CALLS, works: worksAs },
  'a log writer': {
    make: () => LogWriter(OffsetLog(newPath('log'), { codec: lines })),
    now: ['write', 'flushSync', 'setLevel', 'addLevels', 'enable', 'disable', 'isEnabled', 'counters'],
    good: { flush: [{}] },
    hasNoCallbacks: true,
    works: (writer) => writer.flush()
  },
  'a destination of pino': {
    make: () => pino.destination(newPath('pino')),
    now: ['write', 'flush', 'flushSync', 'reopen', 'end', 'destroy'],
    good: { drain: [{}] },
    hasNoCallbacks: true,
    works: (to) => to.ready()
  },
  'a view': {
    make: () => createView(createLog(), { name: 'count', initial: 0, reduce: (sum) => sum + 1 }),
    now: ['since', 'status', 'drop'],
    hasNoCallbacks: true,
    works: (view) => view.get()
  },
  'a forwarder': {
    make: () => Forwarder(createLog(), { name: 'x', sink: async () => {} }),
    now: ['state', 'lag', 'stats', 'close'],
    hasNoCallbacks: true,
    works: (forwarder) => forwarder.resume().then(() => forwarder.drained())
  },
  'the end of a forwarder': {
    make: () => ({ close: (...args) => Forwarder(createLog(), { name: 'x', sink: async () => {} }).close(...args) }),
    now: [],
    good: { close: [{}] },
    hasNoCallbacks: true,
    works: async () => {}
  },
  'a shipper': {
    make: () => ship(createLog(), createLog()),
    now: ['state', 'lag', 'stats'],
    good: { verify: [{}] },
    hasNoCallbacks: true,
    works: (shipper) => shipper.resume().then(() => shipper.drained())
  },
  'the sinks of a forwarder': { make: sinks, now: [], hasNoCallbacks: true, works: async () => {} },
  'a log on JetStream': {
    make: async () => JetStreamLog({ servers: (await startFakeServer()).url, stream: 'events', codec: jsonCodec, timeout: 3000 }),
    now: [...NOW, 'shipTarget'],
    good: { ...LOG_CALLS, get: [1, {}], getMany: [[1], {}], appendOnce: [['good'], ['1']], idOf: [1] },
    works: worksAs
  },
  'a server of ingest': {
    make: () => createIngest({ folder: newPath('ingest'), port: 0 }), now: [], hasNoCallbacks: true, works: (server) => server.ready()
  },
  'a view for flumedb': {
    make: () => createFlumeView(['type'])(createLog({ index: index() }), 'view'),
    now: ['since', 'read', 'createSink'],
    good: { get: ['x'] },
    hasNoPromises: true,
    works: async () => {}
  },
  'a thread writer': {
    make: threadWriter, now: ['write', 'flushSync', 'counters'], hasNoCallbacks: true, works: (writer) => writer.flush()
  },
  'a destination of pino.transport': {
    make: () => transport({ folder: newPath('pino') }),
    now: ['write', 'flush', 'flushSync', 'reopen', 'end', 'destroy'],
    good: { drain: [{}] },
    hasNoCallbacks: true,
    works: (to) => new Promise((resolve) => to.flush(resolve))
  },
  'what is read as a log': {
    make: () => reader(createLog(), (file) => openSource(file)), now: ['stream', 'toReadable', 'createReader', 'since'], works: (source) => source.ready()
  },
  'functions with a callback': {
    make: () => ({ convert, accept, repair, verify }),
    now: [],
    good: { convert: [__filename, newPath('to'), {}], accept: [__filename, {}], repair: [__filename, newPath('to'), {}], verify: [__filename, {}] },
    works: async () => {}
  },
  'functions that give a promise': {
    make: () => {
      const ofFolders = { listRuns, removeRuns, findMissingSegments, listSegments }
      return { verifyShipped, transport, createKey, listKeys, revokeKey, plugin, ...ofFolders }
    },
    now: [],
    good: {
      plugin: [{ folder: newPath('ingest') }],
      createKey: [newPath('keys'), { scopes: ['read:*'], note: 'x', otlpLog: 'x' }],
      listKeys: [newPath('keys')],
      revokeKey: [newPath('keys'), 'x'],
      verifyShipped: [{}, {}, {}], findMissingSegments: [newPath('a'), {}], listSegments: [newPath('a'), {}], transport: [{}] },
    hasNoCallbacks: true,
    works: async () => {}
  }
}

const FOREIGN = [null, Object.prototype, Function.prototype, EventEmitter.prototype]

/** The names of the functions that it has, and of those of its index. */
function callsOf (object) {
  const names = new Set()
  for (let at = object; !FOREIGN.includes(at); at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      if (name !== 'constructor' && !name.startsWith('_') && typeof Object.getOwnPropertyDescriptor(at, name).value === 'function') names.add(name)
    }
  }
  const calls = [...names].map((name) => ({ name, call: (...args) => object[name](...args) }))
  for (const name of object.index ? ['ready', 'status'] : []) calls.push({ name: `index.${name}`, call: (...args) => object.index[name](...args) })
  return calls
}

/** Each list has one wrong argument, the others are good. @param {any[]} good */
function * wrongLists (good) {
  for (let at = 0; at <= good.length; at++) {
    const given = (wrong) => [...good.slice(0, at), wrong, ...good.slice(at + 1)]
    for (const wrong of WRONG) yield given(wrong)
    if (at > 0 && at === good.length) for (const wrong of WRONG) yield [...good.slice(0, -1), undefined, wrong]
    if (at === good.length || typeof good[at] !== 'object') continue
    for (const name of new Set([...OPTIONS, ...Object.keys(good[at])])) {
      for (const wrong of AS_OPTION) yield given({ ...good[at], [name]: wrong })
      yield given({ ...good[at], get [name] () { throw planned } })
    }
  }
}

/** What is wrong with a failure; null if nothing is. */
function faultOf (err) {
  if (err === planned || err?.cause === planned) return null
  if (!(err instanceof Error)) return `a failure that is no error: ${typeof err}`
  return typeof err.code === 'string' && !(err instanceof ReferenceError) ? null : `no code: ${err.stack.split('\n').slice(0, 3).join(' ')}`
}

/** @returns {Promise<string | null>}  what is wrong */
async function callForPromise (call, args) {
  let given
  try {
    given = call(...args)
  } catch (err) {
    return `threw ${err?.message}`
  }
  if (typeof given?.then !== 'function') return `gave no promise but ${typeof given}`
  return await settles((cb) => given.then(() => cb(null), cb))
}

async function callForCallback (call, args) {
  let hasReturned = false
  let fault = null
  let count = 0
  const answered = settles((cb) => {
    try {
      call(...args, (err) => {
        if (err && !hasReturned) fault = 'called back before it returned'
        if (count++ > 0) fault = 'called back twice'
        cb(err)
      })
    } catch (err) {
      fault = `threw ${err?.message}`
      cb(null)
    }
    hasReturned = true
  })
  const found = await answered
  return fault ?? found
}

async function settles (run) {
  const answers = []
  run((err) => { answers.push(err ? faultOf(err) : null) })
  for (let waits = 0; answers.length === 0 && waits < WAITS_MAX; waits++) {
    // Most answer at once.
    await new Promise((resolve) => waits < TURNS_MAX ? setImmediate(resolve) : setTimeout(resolve, 10))
  }
  return answers.length === 0 ? 'never answered' : answers[0]
}

const shown = (value) => {
  try {
    return typeof value === 'string' ? `'${value}'` : JSON.stringify(value, (_, value) => typeof value === 'bigint' ? `${value}n` : value) ?? String(value)
  } catch {
    return value === throwing ? 'what throws' : value === textless ? 'what has no text' : typeof value
  }
}

for (const [title, { make, now, good = {}, hasNoCallbacks = false, hasNoPromises = false, works, end = 'close' }] of Object.entries(SUBJECTS)) {
  tape(`misuse: ${title}`, async (t) => {
    const object = await make()
    const faults = new Map()
    let count = 0
    const check = async ({ name, call }) => {
      const note = (form, fault, args) => {
        if (fault !== null) faults.set(`${name}, ${form}: ${fault}`, args.map(shown).join(', '))
      }
      for (const args of wrongLists(good[name] ?? [])) {
        count++
        if (!hasNoPromises) note('a promise', await callForPromise(call, args), args)
        const hasFunction = args.some((arg) => typeof arg === 'function')
        if (!hasNoCallbacks && (name !== 'scan' || hasFunction)) note('a callback', await callForCallback(call, args.slice(0, good[name]?.length ?? 0)), args)
      }
    }
    const calls = callsOf(object).filter(({ name }) => !now.includes(name))
    for (const call of calls) if (call.name !== end) await check(call)
    await works(object).then(() => t.pass('it works on'), (err) => t.fail(err.stack))
    for (const call of calls) if (call.name === end) await check(call)
    for (const [fault, args] of faults) t.fail(`${fault} (${args})`)
    t.pass(`${count} wrong lists of arguments for ${calls.map(({ name }) => name).join(', ')}`)
  })
}

tape('misuse: the end', (t) => {
  t.end()
  // What was refused an end keeps the process running.
  setImmediate(() => process.exit(process.exitCode))
})
