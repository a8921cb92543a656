'use strict'
// Where the records of the rows go: Millrace, a database, other loggers, a bare file. All take the same records. Those
// that leave the serialisation to the caller get the same JSON.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const { LogWriter, lines } = require('@millrace/log-writer')
const { ThreadWriter, shareWriter } = require('@millrace/log-writer/threads')
const { OffsetLog } = require('@millrace/offset-log')
const { loadPeer } = require('../../engine/install')
const { connectSqlite } = require('../../stores/databases')

const PYTHON_SCRIPT = path.join(__dirname, 'python-logging.py')
const NEWLINE = 0x0a
const COUNT = 'SELECT count(*) FROM logs'
const PATHS = ['password', '*.password', 'req.headers.authorization']

/** @typedef {{ level: number, msg: string, [name: string]: unknown }} Entry */
/** @typedef {'info' | 'error'} LevelName */

/**
 * @typedef {object} Outlet  of one thread
 * @property {(record: any, level: LevelName) => void} write
 * @property {(isSynced: boolean) => void} [flush]  what was written is in the kernel, or on the disk, when it returns
 * @property {() => Promise<void>} [flushed]  resolves when what was written is on the disk
 * @property {() => unknown} end  resolves when everything is in the kernel
 * @property {() => unknown} close  not measured
 * @property {(entry: Entry) => any} [toRecord]  what `write` gets for an entry; the entry itself by default
 *
 * @typedef {object} Shared  one log for all threads: what its owner does
 * @property {() => import('@millrace/log-writer/threads').Channel} connect  for one thread
 * @property {() => void} end  everything is in the kernel when it returns
 * @property {() => Promise<void>} close  not measured
 *
 * @typedef {object} Logger  `kind` is millrace, logger, database, python or limit
 * @property {(folder: string, options: any) => Outlet | Promise<Outlet>} [open]  in an empty folder
 * @property {(folder: string) => Promise<Shared>} [share]  one log for all threads, which `open` gets a channel to
 * @property {(folder: string) => number | Promise<number>} [count]  the records in a folder, once it is closed
 * @property {(work: string, setting: any) => Record<string, number>} [measure]  instead of both, in another process
 * @property {() => string[]} [findPackages]  that were used, if the peer has a choice
 *
 * @typedef {import('../../engine/row').Peer & Logger} Peer
 */

/** @param {any} record */
const toText = (record) => typeof record === 'string' ? record : JSON.stringify(record)
/** pino adds the level itself. @param {Entry} entry */
const withoutLevel = ({ level, ...rest }) => rest

/** @type {(folder: string, options?: object) => Promise<any>} */
async function openLog (folder, options) {
  const log = OffsetLog(path.join(folder, 'log'), { codec: lines, ...options })
  await log.ready()
  return log
}

/**
 * A log writer on a log of its own.
 * @type {(log: any, options?: object) => Outlet & { writer: any, flush: (isSynced: boolean) => void }}
 */
function writeTo (log, options) {
  const writer = LogWriter(log, options)
  const flush = (/** @type {boolean} */ isSynced) => {
    if (!writer.flushSync({ sync: isSynced })) throw new Error('a record is not in the log')
  }
  return {
    writer,
    write: (record, level) => writer.write(record, level),
    flush,
    flushed: () => writer.flush(),
    end: () => flush(false),
    close: () => writer.close().then(() => log.close())
  }
}

/**
 * Millrace's log writer.
 * @typedef {{ waiting?: number, bytes?: number, eager?: any, fsync?: any, framing?: 'lines' }} MillraceOptions
 * @type {(folder: string, options: MillraceOptions) => Promise<Outlet>}
 */
async function openMillrace (folder, { waiting = 8192, bytes = 1024 * 1024, eager = {}, ...log }) {
  // Where less may wait than a usual batch, the caller writes when the queue is full.
  const batch = { count: waiting < 512 ? waiting + 1 : 512, bytes: bytes < 64 * 1024 ? bytes + 1 : 64 * 1024 }
  return writeTo(await openLog(folder, log), { batch, queue: { count: waiting, bytes }, eager })
}

/** @param {string} folder @returns {Promise<Shared>} */
async function shareMillrace (folder) {
  const { writer, end, close } = writeTo(await openLog(folder))
  const shared = shareWriter(writer)
  return {
    connect: () => shared.connect(),
    end () {
      shared.close()
      end()
    },
    close: async () => { await close() }
  }
}

/** @type {(folder: string, options: { channel: any }) => Outlet} */
function openThread (_, { channel }) {
  const writer = ThreadWriter(channel)
  const nothing = () => {}
  return { write: (record, level) => { writer.write(record, level) }, end: nothing, close: nothing }
}

/**
 * pino on Millrace. Secrets are found by pino's paths or by their form, or by both as the preset `production` does it.
 * @typedef {{ bytes?: number, redact?: 'paths' | 'form' | 'production' }} PinoOptions
 * @type {(folder: string, options: PinoOptions) => Promise<Outlet>}
 */
async function openMillracePino (folder, { bytes = 1024 * 1024, redact }) {
  const log = await openLog(folder)
  const { destination, preset } = require('@millrace/pino')
  // What waits in memory is bounded, as with the other loggers, and not written line by line.
  const batched = { handleSignals: false, queue: { bytes } }
  const [options, to] = redact === 'production'
    ? preset('production', log, batched)
    : [redact === 'paths' && { redact: PATHS }, destination(log, { ...batched, redact: redact === 'form' })]
  const logger = loadPeer('pino')({ ...options, base: null, timestamp: false }, to)
  const flush = (/** @type {boolean} */ isSynced) => { to.writer.flushSync({ sync: isSynced }) }
  return {
    write: (record, level) => logger[level](record),
    flush,
    end: () => flush(false),
    close: () => to.close().then(() => log.close()),
    toRecord: withoutLevel
  }
}

/** @param {string} folder */
async function countMillrace (folder) {
  const log = await openLog(folder, { flags: 'r' })
  const count = await log.count()
  await log.close()
  return count
}

/**
 * One table with one column of text. Records wait in an array until there are enough of them for a transaction.
 * @param {string} folder
 * @param {object} options
 * @param {string} [options.journal]
 * @param {string} [options.synchronous]
 * @param {number} [options.waiting]  records of a transaction
 * @param {boolean} [options.isEager]  whether an error ends the transaction
 * @param {boolean} [options.isInMemory]
 * @returns {Outlet}
 */
function openSqlite (folder, { journal = 'WAL', synchronous = 'NORMAL', waiting = 1, isEager, isInMemory }) {
  const { db, column } = connectSqlite(isInMemory ? ':memory:' : path.join(folder, 'sqlite'))
  db.exec(`PRAGMA journal_mode = ${journal}; PRAGMA synchronous = ${synchronous}; CREATE TABLE logs (data TEXT)`)
  const [insert, begin, commit] = ['INSERT INTO logs (data) VALUES (?)', 'BEGIN', 'COMMIT'].map((sql) => db.prepare(sql))
  /** @type {string[]} */
  let texts = []
  const flush = () => {
    if (texts.length === 1) insert.run(texts[0])
    else if (texts.length > 1) {
      begin.run()
      for (const text of texts) insert.run(text)
      commit.run()
    }
    texts = []
  }
  return {
    write (record, level) {
      texts.push(toText(record))
      if (texts.length >= waiting || (isEager && level === 'error')) flush()
    },
    flush,
    flushed: async () => flush(),
    end: flush,
    close () {
      // What is only in memory is counted before it is gone.
      if (isInMemory) fs.writeFileSync(path.join(folder, 'count'), String(column(COUNT).get()))
      db.close()
    }
  }
}

/** @param {string} folder */
function countSqlite (folder) {
  const counted = path.join(folder, 'count')
  if (fs.existsSync(counted)) return Number(fs.readFileSync(counted, 'utf8'))
  const { db, column } = connectSqlite(path.join(folder, 'sqlite'))
  const count = column(COUNT).get()
  db.close()
  return count
}

/** Which of the two modules for SQLite was used. */
function findSqlite () {
  const { name, db } = connectSqlite(':memory:')
  db.close()
  return [name]
}

/** @typedef {{ minLength?: number, isEager?: boolean, redact?: 'paths' }} BoomOptions */

/** The destination of pino, without its serialisation. @type {(folder: string, options: BoomOptions) => any} */
function createBoom (folder, { minLength = 0 }) {
  return loadPeer('pino').destination({ dest: path.join(folder, 'log'), sync: true, minLength })
}

/**
 * pino as a program uses it: it adds the level and serialises. It writes the same bytes.
 * @type {(folder: string, options: BoomOptions) => Outlet}
 */
function openPino (folder, options) {
  const destination = createBoom(folder, options)
  const redact = options.redact && { redact: PATHS }
  const logger = loadPeer('pino')({ base: null, timestamp: false, ...redact }, destination)
  return { ...toOutlet(destination, options, (record, level) => logger[level](record)), toRecord: withoutLevel }
}

/** @type {(folder: string, options: BoomOptions) => Promise<Outlet>} */
async function openPinoRoll (folder, { minLength = 0 }) {
  return toOutlet(await loadPeer('pino-roll')({ file: path.join(folder, 'log'), size: '100m', sync: true, minLength }), {})
}

/**
 * For a SonicBoom. Its own `flushSync` also syncs, so the buffer is emptied by setting its least length to zero.
 * @type {(destination: any, options: BoomOptions, write?: Outlet['write']) => Outlet}
 */
function toOutlet (destination, { isEager = false }, write = (/** @type {any} */ record) => destination.write(`${toText(record)}\n`)) {
  const { minLength } = destination
  const flush = (/** @type {boolean} */ isSynced) => {
    destination.minLength = 0
    destination.write('')
    destination.minLength = minLength
    if (isSynced) fs.fdatasyncSync(destination.fd)
  }
  return {
    write (record, level) {
      if (isEager && level === 'error') destination.minLength = 0
      write(record, level)
      destination.minLength = minLength
    },
    flush,
    end: () => flush(false),
    close: () => new Promise((resolve) => destination.once('close', resolve).end())
  }
}

/**
 * winston with its File transport. What waits for the file is in memory, without a bound.
 * @type {(folder: string) => Outlet}
 */
function openWinston (folder) {
  const { createLogger, format, transports } = loadPeer('winston')
  const file = new transports.File({ filename: path.join(folder, 'log') })
  const logger = createLogger({ format: format.json(), transports: [file] })
  return {
    // winston adds properties to what it gets.
    write: (record, level) => logger.log({ ...record, level }),
    end: () => new Promise((resolve) => {
      file.once('finish', resolve)
      logger.end()
    }),
    close: () => {},
    toRecord: ({ level, msg, ...rest }) => ({ ...rest, message: msg })
  }
}

/**
 * The least that any logger must do: a write of the system for each record, or for so many.
 * @type {(folder: string, options: { waiting?: number, isEager?: boolean }) => Outlet}
 */
function openBare (folder, { waiting = 1, isEager = false }) {
  const fd = fs.openSync(path.join(folder, 'log'), 'w')
  let [text, count] = ['', 0]
  const flush = (/** @type {boolean} */ isSynced) => {
    if (text !== '') fs.writeSync(fd, text)
    if (isSynced) fs.fdatasyncSync(fd)
    text = ''
    count = 0
  }
  return {
    write (record, level) {
      text += `${toText(record)}\n`
      if (++count >= waiting || (isEager && level === 'error')) flush(false)
    },
    flush,
    flushed: async () => flush(true),
    end: () => flush(false),
    close: () => fs.closeSync(fd)
  }
}

/** @param {string} folder */
function countLines (folder) {
  let count = 0
  for (const name of fs.readdirSync(folder)) {
    const bytes = fs.readFileSync(path.join(folder, name))
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count++
  }
  return count
}

/** @type {(logger: string) => NonNullable<Peer['measure']>} */
function runPython (logger) {
  return (work, setting) => {
    const order = JSON.stringify({ logger, work, ...setting })
    const { status, stdout, stderr, error } = spawnSync('python3', [PYTHON_SCRIPT], { input: order, encoding: 'utf8' })
    if (error) throw new Error(`python3 is not on the PATH: ${error.message}`)
    if (status !== 0) throw new Error(stderr.trim().split('\n').at(-1) ?? `python3 exited with ${status}`)
    return JSON.parse(stdout)
  }
}

const ours = { kind: 'millrace', packages: ['@millrace/log-writer', '@millrace/offset-log'], count: countMillrace }
const logger = { kind: 'logger', count: countLines }
const standIns = { 'better-sqlite3': 'node:sqlite' }

/** @type {Peer[]} */
exports.parts = [
  { ...ours, name: 'millrace', label: 'Millrace', open: openMillrace },
  { ...ours, name: 'millrace-lines', label: 'Millrace, lines', open: (folder, options) => openMillrace(folder, { ...options, framing: 'lines' }) },
  { ...ours, name: 'millrace-shared', label: 'Millrace, one log', open: openThread, share: shareMillrace },
  { ...ours, name: 'millrace-pino', label: 'pino on Millrace', packages: ['@millrace/pino', 'pino'], open: openMillracePino },
  { name: 'sqlite', label: 'SQLite', kind: 'database', packages: ['better-sqlite3'], standIns, open: openSqlite, count: countSqlite, findPackages: findSqlite },
  { ...logger, name: 'pino', label: 'pino', packages: ['pino'], open: openPino },
  { ...logger, name: 'pino-destination', label: 'pino.destination', packages: ['pino'], open: (folder, options) => toOutlet(createBoom(folder, options), options) },
  { ...logger, name: 'pino-roll', label: 'pino-roll', packages: ['pino-roll'], open: openPinoRoll },
  { ...logger, name: 'winston', label: 'winston', packages: ['winston'], open: openWinston },
  { name: 'python', label: 'Python logging', kind: 'python', measure: runPython('logging') },
  { name: 'fapilog', label: 'fapilog', kind: 'python', measure: runPython('fapilog') },
  { name: 'bare', label: 'bare write', kind: 'limit', open: openBare, count: countLines }
]
