'use strict'
// What answers at once, as the functions and constructors of each package do, may throw for a wrong argument, with a
// code: never because a value has no text for the message. The options of a function are those that its own message
// names.

const { EventEmitter } = require('node:events')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { LogWriter } = require('@millrace/log-writer')
const { MergedLog, SlotLog } = require('@millrace/merged-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath, temporaryFolder } = require('@millrace/testkit')

process.chdir(temporaryFolder())

const planned = new Error('planned')
const throws = () => { throw planned }
const TEXTLESS = [null, 5, Symbol('wrong'), Object.create(null), { toString: throws, valueOf: throws }, [Symbol('wrong')], [Object.create(null)]]

/** By package: what is good in the place of each argument before the last, which is an object of options. */
const log = () => OffsetLog(newPath('log'))
const CALLS = {
  '@millrace/binary-codec': { compareString: [Buffer.from('a')], createCompareAt: [[]], createSeekPath: [[]], encode: ['x', Buffer.alloc(9)] },
  '@millrace/forwarder': { Forwarder: [log], ship: [log, log], httpSink: ['http://127.0.0.1:1'], otlpSink: ['http://127.0.0.1:1'], writableSink: [() => () => {}] },
  '@millrace/index': { createIndex: [['type']], createFlumeView: [] },
  '@millrace/ingest': { createIngest: [] },
  '@millrace/jetstream': { JetStreamLog: [] },
  '@millrace/json-codec': { createJsonCodec: [] },
  '@millrace/log-writer': { LogWriter: [log] },
  '@millrace/log-writer/threads': { shareWriter: [() => LogWriter(log())] },
  '@millrace/merged-log': { MergedLog: [() => newPath('slots')], SlotLog: [() => newPath('slots')] },
  '@millrace/migrate': { openSource: [__filename] },
  '@millrace/offset-log': { OffsetLog: [() => newPath('log')], SharedCache: [] },
  '@millrace/pino': { destination: [() => newPath('pino')], preset: [], levelFilter: ['warn'], timeFilter: [], formatPretty: [] },
  '@millrace/segmented-log': { SegmentedLog: [() => newPath('segments')], SharedCache: [] },
  '@millrace/view': { createView: [log] },
  '@millrace/where': { parseWhere: [], timeFilter: [], levelFilter: ['warn'] },
  millrace: { open: [() => newPath('a.log')], createView: [log] }
}

/** The options that a message about an unknown one names. */
function optionsOf (call, good) {
  try {
    call(...good, { nonsense: 1 })
  } catch (err) {
    const [, names = ''] = /(?:there are|known are) ([\w, ]+)/.exec(err.message) ?? []
    return names.split(', ').filter(Boolean)
  }
  return []
}

/** What was opened by a value that is good after all fails later, and that is no matter here. */
function leave (made) {
  if (made instanceof EventEmitter) made.on('error', () => {})
  for (const name of ['ready', 'close']) {
    if (typeof made?.[name] !== 'function') continue
    Promise.resolve().then(() => made[name]()).catch(() => {})
  }
}

/** @returns {string | null}  what is wrong */
function faultOf (call, args) {
  try {
    leave(call(...args))
    return null
  } catch (err) {
    return err === planned || err?.cause === planned || typeof err?.code === 'string' ? null : err?.stack?.split('\n').slice(0, 3).join(' ') ?? String(err)
  }
}

for (const [name, calls] of Object.entries(CALLS)) {
  tape(`misuse: ${name}, values that have no text`, (t) => {
    const faults = new Map()
    let count = 0
    for (const [called, places] of Object.entries(calls)) {
      const call = require(name)[called]
      const good = () => places.map((place) => typeof place === 'function' ? place() : place)
      const note = (args, what) => {
        count++
        const fault = faultOf(call, args)
        if (fault !== null) faults.set(`${called}, ${what}: ${fault}`, what)
      }
      for (const value of TEXTLESS) {
        for (let at = 0; at <= places.length; at++) note([...good().slice(0, at), value], `argument ${at}`)
        for (const option of optionsOf(call, good())) {
          note([...good(), { [option]: value }], option)
          note([...good(), { [option]: { x: value } }], `a part of ${option}`)
        }
      }
    }
    for (const fault of faults.keys()) t.fail(fault)
    t.ok(count > 0, `${count} calls`)
    t.end()
  })
}

tape('misuse: an option that each file of a folder gets is refused at once, too', (t) => {
  for (const wrong of [{ fsync: 'alway' }, { verify: 'no' }, { maxRecordSize: 0 }]) {
    for (const Log of [SegmentedLog, SlotLog, ...(wrong.fsync ? [] : [MergedLog])]) {
      t.throws(() => leave(Log(newPath('folder'), wrong)), { code: 'ERR_INVALID_ARGUMENT' }, `${Log.name} ${Object.keys(wrong)}`)
    }
  }
  t.end()
})

tape('misuse: the end', (t) => {
  t.end()
  setImmediate(() => process.exit(process.exitCode))
})
