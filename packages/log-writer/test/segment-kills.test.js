'use strict'
// Threads write through one log writer into a log that begins segments, compresses and drops them, while the process is
// killed again and again. KILL_COUNT=200 makes it longer.

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { gunzipSync } = require('node:zlib')
const tape = require('tape')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRandom, newPath } = require('@millrace/testkit')
const { lines } = require('..')

const CHILD = path.join(__dirname, 'segment-child.js')
const KILL_COUNT = Number(process.env.KILL_COUNT ?? 4)
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

/** What appears in the folder, or goes, when the process is killed. */
const MOMENTS = { 'a segment': /\.log$/, 'a compressed file in the making': /\.gz\.new$/, 'a compressed file': /\.gz$/ }
const PATIENCE_MS = 3000
const MIB = 2 ** 20

/**
 * Runs a process, and kills it in some ms after `moment`.
 * @returns {Promise<Map<string, number>>}  of each of its threads the last record that it says is in the file
 */
async function runAndKill (folder, name, options, moment, inMs) {
  const child = spawn(process.execPath, [CHILD, folder, name, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'pipe'] })
  const told = new Map()
  let [rest, warnings] = ['', '']
  child.stderr.on('data', (text) => { warnings += text })
  let watch, timer
  const kill = () => child.kill('SIGKILL')
  child.stdout.on('data', (data) => {
    if (told.size === 0 && rest === '') {
      watch = fs.watch(folder, (kind, file) => { if (kind === 'rename' && moment.test(file)) setTimeout(kill, inMs) })
      timer = setTimeout(kill, PATIENCE_MS)
    }
    const parts = (rest + data).split('\n')
    rest = parts.pop()
    for (const part of parts) {
      const [thread, n] = part.split(' ')
      told.set(thread, Number(n))
    }
  })
  const [, signal] = await once(child, 'close')
  watch?.close()
  clearTimeout(timer)
  if (signal !== 'SIGKILL' || warnings !== '') throw new Error(`the process said ${warnings}and ended with ${signal}`)
  return told
}

/** The records of each thread: where they begin and how many there are. Fails if one is missing, doubled or split. */
async function readThreads (t, folder, what) {
  const log = SegmentedLog(folder, { codec: lines, flags: 'r' })
  const threads = new Map()
  const wrong = []
  for await (const { name, n, text } of log.stream({ seqs: false })) {
    const thread = threads.get(name) ?? { first: n, next: n }
    if (n !== thread.next || text !== textOf(n)) wrong.push(`${name}: ${n} instead of ${thread.next}`)
    threads.set(name, { first: thread.first, next: n + 1 })
  }
  await log.close()
  t.deepEqual(wrong.slice(0, 5), [], `${what}: each record once, whole, in the order of its thread`)
  return threads
}

const textOf = (n) => String.fromCharCode(97 + n % 26).repeat(n % 300)

function countFiles (folder) {
  const names = fs.readdirSync(folder)
  for (const name of names.filter((name) => name.endsWith('.gz'))) gunzipSync(fs.readFileSync(path.join(folder, name)))
  return { all: names.length, compressed: names.filter((name) => name.endsWith('.gz')).length }
}

/** Of the files together, in bytes. */
function sizeOf (folder) {
  return fs.readdirSync(folder).reduce((sum, name) => sum + fs.statSync(path.join(folder, name)).size, 0)
}

const modes = {
  'begins and compresses segments': { segmentSize: 64 * 1024, compress: 'gzip' },
  'also drops segments': { segmentSize: 64 * 1024, compress: 'gzip', maxSize: 4 * 1024 * 1024 },
  'has a quota of a fraction of a second': { segmentSize: 64 * 1024, compress: 'gzip', maxSize: MIB }
}

for (const [what, options] of Object.entries(modes)) {
  tape(`segment kills: no record that was in the file is lost if the log ${what} (${KILL_COUNT} kills, seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const folder = newPath('logs')
    const told = new Map()
    let [compressedMax, sizeMax] = [0, 0]
    for (let round = 0; round < KILL_COUNT; round++) {
      const moment = Object.values(MOMENTS)[random(3)]
      const ofRound = await runAndKill(folder, `p${round}`, options, moment, random(10))
      for (const [thread, n] of ofRound) told.set(thread, n)
      compressedMax = Math.max(compressedMax, countFiles(folder).compressed)
      sizeMax = Math.max(sizeMax, sizeOf(folder))
      if (round % 10 < 9 && round < KILL_COUNT - 1) continue
      const threads = await readThreads(t, folder, `after ${round + 1} kills`)
      // What was dropped are the oldest records: a thread of which none is left wrote nothing in the segments that are.
      const lost = [...told].filter(([thread, n]) => (threads.get(thread)?.next ?? (options.maxSize ? n + 1 : 0)) <= n)
      t.deepEqual(lost, [], 'nothing up to an error is lost')
      t.notOk([...ofRound.keys()].some((thread) => !threads.has(thread)), 'the newest records are there')
      if (!options.maxSize) t.notOk([...threads.values()].some(({ first }) => first > 0), 'each thread from its first record')
    }
    t.ok(sizeMax <= (options.maxSize ?? Infinity), `${sizeMax} bytes at most`)
    // What goes within a fraction of a second need not be compressed before.
    t.ok(KILL_COUNT < 5 || compressedMax > 0 || options.maxSize === MIB, `segments were compressed meanwhile, up to ${compressedMax} at once`)
  })
}
