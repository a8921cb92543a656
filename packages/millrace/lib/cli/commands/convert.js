'use strict'

const fs = require('node:fs')
const { LogError } = require('@millrace/errors')
const { codecs, framingOf } = require('../../open')
const { refuseFolder } = require('../folder')
const { renameDurably } = require('../rename')
const { countRecords } = require('../report')
const { parseCount, reportLost } = require('../records')
const { guessCodec } = require('../source')

const CODECS = ['json', 'binary', 'bytes']
const PHASES = { resume: 'comparing what there is', convert: 'converting', verify: 'verifying' }
const MAP_WRITE_SIZE = 64 * 1024
const FORMATS = ['checked', 'lines', 'offset32', 'offset48', 'offset53', 'flumelog-aligned-offset', 'async-append-only-log']

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'convert',
  summary: 'makes a log from a log of another format or codec',
  details: 'It reads the logs of flumelog-offset, flumelog-aligned-offset and async-append-only-log, and those of Millrace. ' +
    'The new log is a checked one, or a text file of JSON lines. ' +
    'The new log appears when it is whole and verified, or not at all. If the command is interrupted, run it again: it ' +
    'continues where it was. Seqs change.',
  arguments: [
    { name: 'from', description: 'the old log; it is only read' },
    { name: 'to', description: 'the new log; nothing may be there' }
  ],
  options: [
    { flags: '--from-codec <name>', description: 'the codec of the old log, if its records do not show it', choices: CODECS },
    { flags: '--to-codec <name>', description: 'the codec of the new log; by default that of the old log', choices: CODECS },
    { flags: '--to-framing <name>', description: 'checked or lines; by default lines if the new name ends in .jsonl', choices: ['checked', 'lines'] },
    { flags: '--format <name>', description: 'the format of the old log, if its bytes do not show it', choices: FORMATS },
    { flags: '--block-size <bytes>', description: 'the block size of the old log, if it is not 65536', parse: parseCount },
    { flags: '--skip-damage', description: 'go on after damage, and say at the end what was lost' },
    { flags: '--skip-bad', description: 'leave out records that do not fit the codecs' },
    { flags: '--map <file>', description: 'write a line with the old and the new seq of each record into a new file' },
    { flags: '--json', description: 'print one line of JSON' }
  ],
  examples: [['millrace convert log.offset new.log --to-codec binary', 'an old log, as a checked one with binary records']],
  async run ({ args, options, shell }) {
    const { convert } = require('@millrace/migrate')
    await refuseFolder(args.from, `convert reads one file. Use millrace export ${args.from} - | millrace import ${args.to}`)
    const framing = options.toFraming ?? framingOf(args.to)
    const names = await chooseCodecs(args.from, { ...options, framing })
    const map = options.map === undefined ? null : new SeqMap(options.map, args.to)
    /** @type {{ phase: string, bar: import('../shell').Progress } | null} */
    let progress = null
    let result
    try {
      result = await convert(args.from, args.to, {
        framing,
        format: options.format,
        blockSize: options.blockSize,
        onCorrupt: options.skipDamage ? 'skip' : 'error',
        onBadRecord: () => Boolean(options.skipBad),
        onProgress: ({ phase, bytesDone, bytesTotal }) => {
          if (progress?.phase !== phase) progress = { phase, bar: shell.progress(PHASES[phase]) }
          progress.bar.update(bytesDone, bytesTotal)
        },
        signal: shell.signal,
        ...(map && { onRecord: (oldSeq, newSeq) => map.add(oldSeq, newSeq), onVerified: () => map.publish() }),
        ...names.codecs
      })
    } finally {
      map?.discard()
      endProgress(progress)
    }
    const { format, records, leftOut, lost } = result
    if (options.json) shell.print(JSON.stringify({ ...result, ...names.names }))
    else shell.print(`${countRecords(records)} converted from ${describe(format, names.names.fromCodec)} to ${describe(framing, names.names.toCodec)}`)
    if (leftOut > 0) shell.complain(`millrace: left out ${countRecords(leftOut)} that the codecs refuse\n`)
    return reportLost(shell, { lost }) || leftOut > 0 ? 1 : 0
  }
}

/**
 * Writes the seqs into a file. It gets its name once it is whole, and before the new log gets its own: if the command
 * is interrupted, the next run writes it again.
 */
class SeqMap {
  #path
  #file
  #text = ''

  /** @type {boolean} */
  #isOpen = true

  /** @param {string} path  @param {string} to  the new log */
  constructor (path, to) {
    const isOfEarlierRun = fs.existsSync(`${to}.converting.json`) && isSeqMap(path)
    if (fs.existsSync(path) && !isOfEarlierRun) throw new LogError('EEXIST', `--map: ${path} exists; give a file that does not`, { path })
    this.#path = path
    this.#file = fs.openSync(`${path}.new`, 'w')
  }

  /** @type {(oldSeq: number, newSeq: number) => void} */
  add (oldSeq, newSeq) {
    this.#text += `${oldSeq} ${newSeq}\n`
    if (this.#text.length >= MAP_WRITE_SIZE) this.#write()
  }

  #write () {
    fs.writeSync(this.#file, this.#text)
    this.#text = ''
  }

  publish () {
    this.#write()
    fs.fsyncSync(this.#file)
    this.#close()
    renameDurably(`${this.#path}.new`, this.#path)
  }

  /** What is unfinished goes. */
  discard () {
    this.#close()
    fs.rmSync(`${this.#path}.new`, { force: true })
  }

  #close () {
    if (this.#isOpen) fs.closeSync(this.#file)
    this.#isOpen = false
  }
}

/** Whether a file begins as a map does. @param {string} file */
function isSeqMap (file) {
  if (!fs.existsSync(file)) return false
  const bytes = Buffer.alloc(64)
  const fd = fs.openSync(file, 'r')
  try {
    return /^(?:$|\d+ \d+\n)/.test(bytes.toString('latin1', 0, fs.readSync(fd, bytes, 0, bytes.length, 0)))
  } finally {
    fs.closeSync(fd)
  }
}

/** @param {{ bar: import('../shell').Progress } | null} progress */
function endProgress (progress) {
  progress?.bar.end()
}

/** @param {string} format @param {string | null} codec */
function describe (format, codec) {
  return codec === null ? format : `${format} (${codec})`
}

/**
 * The new log is to say which codec it has: that of the old one, as that says it or as its first record does.
 * @param {string} path
 * @param {Record<string, any>} options
 */
async function chooseCodecs (path, { fromCodec, toCodec, framing, format, blockSize }) {
  const { openSource } = require('@millrace/migrate')
  const source = openSource(path, { format, blockSize })
  try {
    await source.ready()
    const from = fromCodec ?? source.codec ?? await firstCodec(source)
    const to = toCodec ?? (framing === 'lines' && from === 'binary' ? 'json' : from)
    const names = { fromCodec: from ?? null, toCodec: to ?? null }
    if (!isKnown(from) || !isKnown(to)) return { names, codecs: {} }
    return { names, codecs: { fromCodec: codecOf(from), toCodec: codecOf(to) } }
  } finally {
    await source.close()
  }
}

/** @param {any} name */
function isKnown (name) {
  return CODECS.includes(name)
}

/** @param {'json' | 'binary' | 'bytes'} name */
function codecOf (name) {
  return codecs[name] ?? { name: 'bytes', buffer: true, encode: (/** @type {Buffer} */ bytes) => bytes, decode: (/** @type {Buffer} */ bytes) => bytes }
}

/** @param {ReturnType<typeof import('@millrace/migrate').openSource>} source */
async function firstCodec (source) {
  const { value } = await source.stream()[Symbol.asyncIterator]().next()
  return value && guessCodec(value.bytes)
}
