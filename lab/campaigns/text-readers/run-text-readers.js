'use strict'
// Lets `tail -F`, `grep`, `jq`, Python and a shipper read two logs of lines while another process writes these: each
// line comes once, in order and whole, and no byte is ever zero.

const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { Follower } = require('./follower')

const WRITER = path.join(__dirname, 'writer.js')
const POLL_MS = 15
const LOOK_MS = 700
// `tail` looks at a file once a second, if the kernel does not tell it.
const TAIL_MS_MAX = 15_000
const OUTPUT_SIZE_MAX = 2 ** 30
const SEGMENT = /\.jsonl$/
const PYTHON = `
import json, sys
text = sys.stdin.buffer.read()
for line in text.split(b"\\n"):
    if line: print(json.loads(line.decode("utf-8"))["n"])
`

/**
 * Those that this machine has. Each gets whole lines, and gives their numbers.
 * @type {Array<{ name: string, args: string[] }>}
 */
const PARSERS = [{ name: 'jq', args: ['-c', '.n'] }, { name: 'python3', args: ['-c', PYTHON] }]

/**
 * @param {{ seconds: number, rate: number, seed: number }} options  `rate`: lines a second, about
 * @returns {Promise<{ faults: string[], lines: number, segments: number, looks: number, parsers: string[] }>}
 */
async function runTextReaders (options) {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-text-readers-'))
  try {
    return await new Run(root, options).run()
  } finally {
    fs.rmSync(root, { recursive: true, force: true })
  }
}

/** @param {string} name */
function isThere (name) {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0
}

class Run {
  /**
   * @param {string} root
   * @param {{ seconds: number, rate: number, seed: number }} options
   */
  constructor (root, options) {
    this._options = options
    this._file = path.join(root, 'single', 'events.jsonl')
    this._folder = path.join(root, 'segments')
    for (const folder of [path.dirname(this._file), this._folder]) fs.mkdirSync(folder)
    /** One `tail -F` for each file. @type {Map<string, Tail>} */
    this._tails = new Map()
    this._followers = [new Follower(path.dirname(this._file), SEGMENT), new Follower(this._folder, SEGMENT)]
    this._parsers = PARSERS.filter(({ name }) => isThere(name))
    /** What `grep -c` has counted last, by file. @type {Map<string, number>} */
    this._counts = new Map()
    this._looks = 0
    /** @type {string[]} */
    this._faults = []
  }

  async run () {
    const count = await this._watch()
    for (const follower of this._followers) {
      follower.poll()
      this._faults.push(...follower.faults)
      this._checkNumbers('the shipper', follower.numbers, count)
    }
    await this._checkTails(count)
    for (const parser of this._parsers) this._checkParser(parser, count)
    const { length: segments } = this._segments
    const parsers = this._parsers.map(({ name }) => name)
    return { faults: this._faults, lines: count, segments, looks: this._looks, parsers }
  }

  /** @returns {Promise<number>}  how many lines were written */
  async _watch () {
    const args = [WRITER, JSON.stringify({ ...this._options, file: this._file, folder: this._folder })]
    const writer = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    writer.stdout.on('data', (text) => { said += text })
    const polling = setInterval(() => {
      this._followNew()
      for (const follower of this._followers) follower.poll()
    }, POLL_MS)
    const looking = setInterval(() => this._look(), LOOK_MS)
    const [code] = await once(writer, 'close')
    clearInterval(polling)
    clearInterval(looking)
    this._followNew()
    if (code !== 0) this._faults.push(`the writer ended with ${code}`)
    return Number(said)
  }

  get _segments () {
    const names = fs.readdirSync(this._folder).filter((name) => SEGMENT.test(name)).sort()
    return names.map((name) => path.join(this._folder, name))
  }

  get _files () {
    return [this._file, ...this._segments].filter((file) => fs.existsSync(file))
  }

  _followNew () {
    for (const file of this._files) if (!this._tails.has(file)) this._tails.set(file, new Tail(file))
  }

  /** What others see at this moment. */
  _look () {
    const files = this._files
    const file = files[this._looks++ % 2 === 0 ? 0 : files.length - 1]
    if (file === undefined) return
    this._grep(file)
    const bytes = fs.readFileSync(file)
    const lines = bytes.subarray(0, bytes.lastIndexOf(10) + 1)
    if (bytes.includes(0)) this._faults.push(`${file} has a zero byte`)
    if (this._parsers.length === 0) return
    const { name, args } = this._parsers[this._looks % this._parsers.length]
    this._parse(name, args, lines)
  }

  /** @param {string} file */
  _grep (file) {
    const { stdout } = spawnSync('grep', ['-c', '"n":', file], { encoding: 'utf8' })
    const { stdout: last } = spawnSync('grep', ['-m', '1', '"n":', file], { encoding: 'utf8', maxBuffer: OUTPUT_SIZE_MAX })
    if (/binary file/i.test(last)) this._faults.push(`grep: ${last}`)
    const count = Number(stdout)
    if (count < (this._counts.get(file) ?? 0)) this._faults.push(`grep -c counts ${count} lines of ${file}, fewer than before`)
    this._counts.set(file, count)
  }

  /** @type {(name: string, args: string[], input: Buffer) => number[]} */
  _parse (name, args, input) {
    const { status, stdout, stderr } = spawnSync(name, args, { input, encoding: 'utf8', maxBuffer: OUTPUT_SIZE_MAX })
    if (status !== 0) this._faults.push(`${name} ends with ${status}: ${stderr.slice(-300)}`)
    const numbers = stdout.split('\n').filter((text) => text !== '').map(Number)
    const wrong = numbers.findIndex((number, index) => number !== numbers[0] + index)
    if (wrong !== -1) this._faults.push(`${name} reads line ${numbers[wrong]} after ${numbers[wrong - 1]}`)
    return numbers
  }

  /** @type {(parser: { name: string, args: string[] }, count: number) => void} */
  _checkParser ({ name, args }, count) {
    this._checkNumbers(name, this._parse(name, args, fs.readFileSync(this._file)), count)
    const texts = this._segments.map((file) => fs.readFileSync(file))
    this._checkNumbers(name, this._parse(name, args, Buffer.concat(texts)), count)
  }

  /** @param {number} count */
  async _checkTails (count) {
    const endMs = Date.now() + TAIL_MS_MAX
    const isBehind = () => [...this._tails].some(([file, tail]) => tail.size < fs.statSync(file).size)
    while (isBehind() && Date.now() < endMs) await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    for (const tail of this._tails.values()) await tail.end()
    for (const files of [[this._file], this._segments]) {
      const read = files.map((file) => this._tails.get(file)?.bytes ?? Buffer.alloc(0))
      this._checkNumbers('tail -F', numbersOf(Buffer.concat(read)), count)
    }
  }

  /** @type {(who: string, numbers: number[], count: number) => void} */
  _checkNumbers (who, numbers, count) {
    const wrong = numbers.findIndex((number, index) => number !== index)
    if (wrong !== -1) this._faults.push(`${who} reads line ${numbers[wrong]} in place of ${wrong}`)
    else if (numbers.length !== count) this._faults.push(`${who} has read ${numbers.length} of ${count} lines`)
  }
}

class Tail {
  /** @param {string} file */
  constructor (file) {
    /** @type {Buffer[]} */
    this._chunks = []
    this.size = 0
    this._process = spawn('tail', ['-n', '+1', '-F', file], { stdio: ['ignore', 'pipe', 'ignore'] })
    this._process.stdout.on('data', (/** @type {Buffer} */ chunk) => {
      this._chunks.push(chunk)
      this.size += chunk.length
    })
  }

  get bytes () {
    return Buffer.concat(this._chunks)
  }

  async end () {
    this._process.kill()
    await once(this._process, 'close')
  }
}

/** @param {Buffer} bytes  JSON Lines */
function numbersOf (bytes) {
  return bytes.toString().split('\n').filter((line) => line !== '').map((line) => {
    try {
      return JSON.parse(line).n
    } catch {
      return `no JSON: ${line.slice(0, 80)}`
    }
  })
}

exports.isThere = isThere
exports.runTextReaders = runTextReaders
