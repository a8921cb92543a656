'use strict'
// Processes that end in every way at random moments: while their log opens, while it is written, while segments begin,
// and while lines go to standard error. No line is lost of which the README promises that.

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { lines } = require('@millrace/log-writer')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRandom } = require('@millrace/testkit')
const { newFolder, readAll } = require('./helper')

const CHILD = path.join(__dirname, 'ends-kill-child.js')
const KILL_COUNT = Number(process.env.KILL_COUNT ?? (process.env.MILLRACE_TESTS === 'long' ? 200 : 10))
const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL', 'SIGQUIT']
/** Ends that the program chooses. With `nothing` it has nothing more to do. */
const ENDINGS = ['exit', 'throw', 'reject', 'abort', 'nothing']
/** Of these, lines are safe also while the log opens. */
const ORDERLY = new Set(['exit', 'throw', 'reject', 'nothing'])

const situations = {
  'a log that is open': { options: {} },
  'segments that begin': { options: { log: { segmentSize: 40_000 } } },
  'a log that opens': { options: {}, isEarly: true },
  'a folder that another one holds for a while': { options: {}, isHeld: true },
  'a folder that is none': { options: {}, folder: '/dev/null/x' },
  'lines in batches': { options: { handleSignals: false }, isBuffered: true }
}

/** @returns {Promise<{ logged: number, safe: number, aside: number[], held: number }>} */
async function runToItsEnd (folder, { options, isEarly, isHeld }, end, random) {
  const holder = isHeld ? SegmentedLog(folder, { codec: lines }) : null
  await holder?.ready()
  const lastCount = isEarly ? random(50) : 10 + random(3000)
  const args = [CHILD, folder, JSON.stringify(options), end, String(ENDINGS.includes(end) ? lastCount : Infinity)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const counts = { logged: 0, safe: 0 }
  let [rest, errors] = ['', '']
  child.stderr.on('data', (text) => { errors += text })
  child.stdout.on('data', (text) => {
    const told = (rest + text).split('\n')
    rest = told.pop()
    for (const line of told) {
      const [kind, count] = line.split(' ')
      counts[kind] = Number(count)
      counts.logged = Math.max(counts.logged, counts.safe)
      if (counts.logged >= lastCount && SIGNALS.includes(end)) child.kill(end)
      if (holder !== null && counts.logged >= lastCount / 2) holder.close().catch(() => {})
    }
  })
  await once(child, 'close')
  await holder?.close()
  const aside = errors.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line).n)
  return { ...counts, aside }
}

function hasSegment (folder) {
  return fs.existsSync(folder) && fs.readdirSync(folder).some((name) => name.endsWith('.log'))
}

for (const [what, situation] of Object.entries(situations)) {
  tape(`ends: nothing is lost that was promised, with ${what} (${KILL_COUNT} ends, seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    let asideCount = 0
    for (let round = 0; round < KILL_COUNT; round++) {
      const all = situation.isBuffered ? [...ORDERLY] : [...SIGNALS, ...ENDINGS]
      const end = all[(round + random(2)) % all.length]
      const folder = situation.folder ?? newFolder()
      const { logged, safe, aside } = await runToItsEnd(folder, situation, end, random)
      // The process may have ended before it made the folder, or while it made the first segment.
      const isMissing = (safe === 0 || situation.folder !== undefined) && !hasSegment(folder)
      const inLog = isMissing ? [] : (await readAll(folder)).flatMap(({ n }) => n ?? [])
      const found = [...inLog, ...aside].sort((a, b) => a - b)
      const promised = ORDERLY.has(end) ? logged : safe
      const about = `${end}: ${promised} of ${logged} promised, ${inLog.length} in the log, ${aside.length} on standard error`
      t.ok(found.length >= promised && found.every((n, index) => n === index), about)
      asideCount += aside.length
    }
    if (situation.isHeld) t.ok(asideCount > 0, 'some lines went to standard error')
  })
}
