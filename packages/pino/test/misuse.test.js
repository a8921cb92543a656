'use strict'
// Options that are misspelt, or given to the wrong object: the message names the object that got them, what was meant,
// and all that there are.

const tape = require('tape')
const { Forwarder } = require('@millrace/forwarder')
const { LogWriter, lines } = require('@millrace/log-writer')
const { MergedLog, SlotLog } = require('@millrace/merged-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { destination, preset } = require('..')
const { newFolder } = require('./helper')

const log = { ready () {}, append () {}, sync () {}, close () {}, scan () {}, stream () {}, since () {}, codec: lines, filename: 'x' }
const OPEN = {
  destination: (options) => destination(newFolder(), options),
  preset: (options) => preset('production', newFolder(), options),
  LogWriter: (options) => LogWriter(log, options),
  Forwarder: (options) => Forwarder(log, { sink: () => {}, ...options }),
  SegmentedLog: (options) => SegmentedLog(newFolder(), options),
  SlotLog: (options) => SlotLog(newFolder(), options),
  MergedLog: (options) => MergedLog(newFolder(), options)
}

/** By what gets them: options, how the message goes on, and one that is named among those that there are. */
const TABLE = [
  ['destination', { maxSize: 2 ** 30 }, 'there is no option maxSize; it belongs in log; there are log, slots, redact, censor, tee'],
  ['destination', { segmentDay: 'UTC' }, 'there is no option segmentDay; it belongs in log'],
  ['destination', { fsync: 'always' }, 'there is no option fsync; it belongs in log'],
  ['destination', { ageMs: 5 }, 'there is no option ageMs; it belongs in batch'],
  ['destination', { bytes: 5 }, 'there is no option bytes; it belongs in batch or queue'],
  ['destination', { name: 'shop' }, 'there is no option name; it belongs in the options of pino'],
  ['destination', { maxsize: 5 }, 'there is no option maxsize; did you mean maxSize, which belongs in log?'],
  ['destination', { redct: true }, 'there is no option redct; did you mean redact?'],
  ['destination', { when_full: 'wait' }, 'there is no option when_full; did you mean whenFull?'],
  ['destination', { whenfull: 'wait' }, 'there is no option whenfull; did you mean whenFull?'],
  ['destination', { foo: 1 }, 'there is no option foo; there are log, slots, redact, censor, tee, batch'],
  ['destination', { codec: lines }, 'there is no option codec; there are log'],
  ['destination', { onDrop () {} }, 'there is no option onDrop;'],
  ['destination', { whenFull: 'block' }, 'whenFull must be one of write-through, wait, drop-new, drop-old, got block'],
  ['destination', { handleSignals: 1 }, 'handleSignals must be true or false'],
  ['destination', { redact: ['phone'] }, 'redact: there is no kind of secret phone; there are name, credentials, email, token, card'],
  ['destination', { redact: ['req.headers.cookie'] }, 'redact: there is no kind of secret req.headers.cookie; there are name, credentials, email, token, card. Paths belong in the option redact of pino itself'],
  ['SegmentedLog', { codec: 'json' }, "codec must be an object with the functions encode and decode, such as jsonCodec of @millrace/json-codec, got 'json'"],
  ['destination', { queue: { size: 1 } }, 'queue: there is no option size; there are count, bytes'],
  ['destination', { queue: { count: 0 } }, 'queue.count must be 1 or more'],
  ['destination', { eager: { warn: 'now' } }, 'eager.warn must be written or synced'],
  ['destination', { levels: { audit: 'x' } }, 'levels.audit must be a number'],
  ['destination', { log: { redact: true } }, 'log: there is no option redact; it belongs in the options of destination, beside log'],
  ['destination', { log: { segmentsize: 1 } }, 'log: there is no option segmentsize; did you mean segmentSize?'],
  ['destination', { log: { where: [] } }, 'log: there is no option where; it belongs in keep'],
  ['destination', { log: 5 }, 'log must be an object of options, got 5'],
  ['destination', { slots: true, log: { compress: 'gzip' } }, 'log: there is no option compress; it belongs in a folder that only one process'],
  ['destination', null, 'expected options, got null'],
  ['preset', { maxSize: 2 ** 30 }, 'there is no option maxSize; it belongs in log'],
  ['preset', { base: null }, 'there is no option base; it belongs in the options of pino'],
  ['preset', { tees: 'stdout' }, 'there is no option tees; did you mean tee?'],
  ['preset', { log: { tee: 'stdout' } }, 'log: there is no option tee; it belongs in the options of preset, beside log'],
  ['LogWriter', { maxSize: 1 }, 'there is no option maxSize; it belongs in the options of the log; there are batch'],
  ['LogWriter', { count: 1 }, 'there is no option count; it belongs in batch or queue'],
  ['LogWriter', { onreport () {} }, 'there is no option onreport; did you mean onReport?'],
  ['LogWriter', { whenFull: 'block' }, 'whenFull must be one of'],
  ['Forwarder', { ageMs: 1 }, 'there is no option ageMs; it belongs in batch; there are sink'],
  ['Forwarder', { minMs: 1 }, 'there is no option minMs; it belongs in backoff'],
  ['Forwarder', { headers: {} }, 'there is no option headers; it belongs in the options of the sink'],
  ['Forwarder', { backOff: {} }, 'there is no option backOff; did you mean backoff?'],
  ['SegmentedLog', { segmentSze: 1 }, 'there is no option segmentSze; did you mean segmentSize? If not, there are codec'],
  ['SegmentedLog', { where: [] }, 'there is no option where; it belongs in keep'],
  ['SegmentedLog', { max_age: 1 }, 'there is no option max_age; did you mean maxAge?'],
  ['SlotLog', { slot: 1 }, 'there is no option slot; did you mean slots?'],
  ['SlotLog', { latenessMs: 1 }, 'there is no option latenessMs; it belongs in MergedLog'],
  ['SlotLog', { compress: 'gzip' }, 'there is no option compress; it belongs in SegmentedLog'],
  ['MergedLog', { maxSize: 1 }, 'there is no option maxSize; it belongs in SlotLog']
]

tape('options: handleSignals that is undefined is true, as if it were missing', async (t) => {
  for (const options of [{}, { handleSignals: undefined }]) {
    const to = destination(newFolder(), options)
    t.equal(to.writer.handlesSignals, true)
    await to.close()
  }
})

tape('misuse: an option that is misspelt or misplaced', (t) => {
  for (const [name, options, message] of TABLE) {
    try {
      OPEN[name](options)
      t.fail(`${name} takes ${JSON.stringify(options)}`)
    } catch (err) {
      t.equal(err.code, 'ERR_INVALID_ARGUMENT')
      t.equal(err.message.slice(0, `${name}: ${message}`.length), `${name}: ${message}`)
    }
  }
  t.end()
})
