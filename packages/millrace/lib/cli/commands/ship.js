'use strict'

const { misuse } = require('@millrace/errors')
const { escapeControls } = require('@millrace/flow')
const { loadPackage } = require('../packages')
const { countRecords } = require('../report')
const { identify, isFolder, openIdentified } = require('../source')
const { openLog, parseAddress } = require('../stream')

/** What the user need not be told of each time. */
const QUIET = ['recovered', 'retry']

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'ship',
  summary: 'copies a log to a stream of NATS JetStream, each record once',
  details: 'Records are copied byte for byte. The stream is made if there is none. A cursor beside the log, ' +
    'FILE.NAME.cursor, and the last message of the stream say where to go on: if the command was interrupted, run it ' +
    'again. Exit code 1: some records could not be shipped, the stream had lost records (they are shipped again), or ' +
    '--verify found a difference. It needs the packages @millrace/forwarder and @millrace/jetstream.',
  needs: ['@millrace/forwarder', '@millrace/jetstream'],
  arguments: [
    { name: 'file', description: 'the log: a file, or a folder of segments. Another process may be writing it' },
    { name: 'target', description: 'the stream: nats://HOST:PORT/STREAM', kind: 'text' }
  ],
  options: [
    { flags: '-f, --follow', description: 'go on with records that are appended, until interrupted' },
    { flags: '--name <name>', description: 'the name of the cursor; a log with several targets needs several', parse: parseName, default: 'ship' },
    { flags: '--no-refill', description: 'stop if the stream has lost records, instead of shipping them again' },
    { flags: '--verify', description: 'at the end, compare all of the stream with the log' },
    { flags: '--json', description: 'print one line of JSON about what was done' }
  ],
  examples: [
    ['millrace ship events.log nats://127.0.0.1:4222/events', 'every record of events.log is in the stream events'],
    ['millrace ship --follow logs tls://token@nats.example.com/logs', 'the segments in the folder logs, as they grow']
  ],
  async run ({ args, options, shell }) {
    const address = parseAddress(args.target)
    const { log, codec } = await openSource(args.file)
    try {
      const target = await openLog(address, { codec: passThrough(codec) })
      try {
        return await shipAll({ log, target, options, shell })
      } finally {
        await target.close()
      }
    } finally {
      await log.close()
    }
  }
}

/**
 * @param {{ log: any, target: any, options: Record<string, any>, shell: import('../shell').Shell }} parts
 * @returns {Promise<number>}  the exit code
 */
async function shipAll ({ log, target, options, shell }) {
  const { ship } = loadPackage('@millrace/forwarder', 'millrace ship')
  let isWorse = false
  let isDown = false
  /** @type {(err: Error) => void} */
  let stop = () => {}
  const stopped = new Promise((resolve, reject) => { stop = reject })
  // It may happen before anybody waits for it.
  stopped.catch(() => {})
  const shipper = ship(log, target, {
    name: options.name,
    refill: options.refill,
    onReport: (report) => {
      if (report.what === 'stopped') return stop(report.error)
      // One line for each outage.
      const isNews = report.what === 'retry' ? !isDown : !QUIET.includes(report.what) || isDown
      isDown = report.what === 'retry'
      isWorse ||= !QUIET.includes(report.what)
      if (isNews) shell.complain(`millrace: ${escapeControls(report.message)}\n`)
    }
  })
  const aborted = new Promise((resolve) => shell.onAbort(() => resolve(undefined)))
  try {
    await shipper.ready()
    const before = shipper.stats().forwarded
    await Promise.race([options.follow ? aborted : shipper.drained(), aborted, stopped])
    const report = options.verify && !shell.signal.aborted ? await shipper.verify({ signal: shell.signal }) : null
    const { forwarded, refused, skipped, seq } = shipper.stats()
    if (report !== null && !report.isSame) tellDifferences(shell, report)
    const shipped = forwarded - before
    const verified = report && { isSame: report.isSame, counts: report.counts }
    if (options.json) shell.print(JSON.stringify({ shipped, refused, skipped, seq, ...verified }))
    else shell.complain(`shipped ${countRecords(shipped)}${report?.isSame ? '; the stream has what the log has' : ''}\n`)
    return isWorse || report?.isSame === false ? 1 : 0
  } finally {
    await shipper.close()
  }
}

/** @type {(shell: import('../shell').Shell, report: import('@millrace/forwarder').ShippedReport) => void} */
function tellDifferences (shell, { differences }) {
  for (const { what, from, to, count } of differences) {
    shell.complain(`millrace: ${countRecords(count)} ${what}, with seqs from ${from} to ${to}\n`)
  }
}

/** @param {string} file */
async function openSource (file) {
  if (file === '-') throw misuse('a log on standard input has no place for a cursor; give the path of the log')
  if (isFolder(file)) {
    const { listSlots } = require('../slots')
    const slots = listSlots(file)
    if (slots.length > 0) {
      throw misuse(`${file} has a log for each of several processes; ship each of them, such as ${file}/${slots[0]}`)
    }
    const { identifyFolder } = require('../folder')
    const { SegmentedLog } = require('@millrace/segmented-log')
    const { codec, guessed } = await identifyFolder(file)
    return opened(SegmentedLog(file, { flags: 'r', codec: passThrough(codec ?? guessed ?? '') }), codec ?? guessed ?? '')
  }
  const identity = await identify(file)
  const codec = identity.codec ?? ''
  return opened(openIdentified(identity, passThrough(codec)), codec)
}

/** @type {(log: any, codec: string) => Promise<{ log: any, codec: string }>} */
async function opened (log, codec) {
  await log.ready()
  return { log, codec }
}

/**
 * The bytes of the records, under the name of their codec.
 * @param {string} name
 * @returns {import('@millrace/offset-log').Codec<Buffer>}
 */
function passThrough (name) {
  return { name, buffer: true, encode: (bytes) => bytes, decode: (bytes) => bytes }
}

/** @param {string} text */
function parseName (text) {
  if (/^[\w-]{1,64}$/.test(text)) return text
  throw misuse('Expected 1 to 64 letters, digits, "_" and "-".')
}
