'use strict'
// Programs that are ended by signals end as they would without a logger, and lose no line: alone, beside other
// listeners and libraries, in threads, in a cluster, and as process 1.

const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { newFolder, readAll } = require('./helper')

const CHILD = path.join(__dirname, 'ends-child.js')
const IS_LONG = process.env.MILLRACE_TESTS === 'long'
const IS_WINDOWS = process.platform === 'win32'
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP']
/** How long a slow shutdown takes, in ms. A second signal comes while it is under way. */
const SHUTDOWN_MS = 500
const SHUTDOWN_MS_OF_TWO = 3000
/** A program that tells so many lines more than its shutdown has ms was not ended: a ms at least is between two. */
const MORE_LINES = 1000
const UNSHARE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child']

const alone = ['nothing', 'a second copy', 'a worker thread', 'cluster']
const beside = ['on', 'on, and runs on', 'a slow shutdown with on', 'a slow shutdown with once', 'once, and raises it again',
  'signal-exit 3', 'signal-exit 4', 'exit-hook', 'death', 'the recipe of operating.md', 'the recipe of offset-log',
  'signal-exit 3 + signal-exit 4', 'signal-exit 4 + a slow shutdown with once']

/** What is missing to run a row. @param {string} name */
function missing (name) {
  const modules = { 'signal-exit 3': 'signal-exit-3', 'signal-exit 4': 'signal-exit', death: 'death', 'exit-hook': 'exit-hook' }
  for (const part of name.split(' + ').filter((part) => part in modules)) {
    if (!fs.existsSync(path.join(__dirname, '../../../node_modules', modules[part]))) return `${modules[part]} is not installed`
  }
  return IS_WINDOWS ? 'no signals here' : false
}

/**
 * Runs a program and sends it a signal, or two.
 * @returns {Promise<{ ended: string, events: string[], counts: Record<string, number> }>}  how it ended, what it told,
 *   and how many lines it says it has logged
 */
async function run ({ name, signal, isTwice, position, folder, wrapper = [] }) {
  const shutdownMs = isTwice ? SHUTDOWN_MS_OF_TWO : SHUTDOWN_MS
  const [file, ...args] = [...wrapper, process.execPath, CHILD, name, signal, position, folder, shutdownMs]
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  const events = []
  const counts = {}
  let [rest, errors] = ['', '']
  let sentCount = 0
  let toldCount = 0
  let isRunningOn = false
  const send = () => {
    sentCount++
    toldCount = 0
    kill(child, signal, wrapper)
  }
  child.stderr.on('data', (text) => { errors += text })
  child.stdout.on('data', (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      const [, thread, count] = /^(main|copy) (\d+)$/.exec(line) ?? []
      if (thread === undefined) events.push(line)
      else counts[thread] = Number(count)
      toldCount++
      if (sentCount === 0 && toldCount > 5) send()
      else if (isTwice && sentCount === 1 && (thread === undefined || toldCount > 100)) send()
      else if (sentCount > 0 && toldCount > shutdownMs + MORE_LINES && !isRunningOn) {
        isRunningOn = true
        kill(child, 'SIGKILL', wrapper)
      }
    }
  })
  const [code, by] = await ended
  // `unshare` says so if its child was killed.
  return { ended: isRunningOn ? 'runs on' : String(by ?? code), events, counts, errors: errors.replace(/^unshare: .*\n/gm, '') }
}

function kill (child, signal, wrapper) {
  if (wrapper.length === 0) return child.kill(signal)
  // The child of `unshare`, or of the init that it runs: as the host sees it.
  let pid = child.pid
  for (let depth = wrapper.includes('sh') ? 2 : 1; depth > 0; depth--) {
    pid = Number(fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0])
  }
  if (pid > 0) process.kill(pid, signal)
}

/** Fails the test if a line is missing that the program says it has logged. */
async function checkLines (t, folder, counts, what) {
  for (const [thread, count] of Object.entries(counts)) {
    const found = (await readAll(thread === 'copy' ? `${folder}-copy` : folder)).map(({ n }) => n)
    t.ok(found.length >= count, `${what}: ${found.length} of ${count} lines are there`)
    t.ok(found.every((n, index) => n === index), `${what}: in order, none missing between two`)
  }
}

/** Tries one row: without a logger, and with one. */
async function compare (t, row) {
  const what = `${row.signal}${row.isTwice ? ' twice' : ''}, ${row.position} the logger`
  const folder = newFolder()
  const [expected, found] = await Promise.all([run({ ...row, folder: '' }), run({ ...row, folder })])
  t.equal(found.ended, expected.ended, `${what}: it ends with ${expected.ended}`)
  // A second signal may come too late for one of them.
  if (!row.isTwice) t.deepEqual(found.events, expected.events, `${what}: the same listeners run`)
  t.equal(found.errors, expected.errors, `${what}: nothing else on standard error`)
  t.ok(found.counts.main > 0, `${what}: it has logged`)
  await checkLines(t, folder, found.counts, what)
}

for (const name of alone) {
  tape(`signals: ${name}`, { skip: missing(name) }, async (t) => {
    for (const signal of SIGNALS) {
      await compare(t, { name, signal, position: 'after' })
      if (IS_LONG) await compare(t, { name, signal, isTwice: true, position: 'after' })
    }
  })
}

for (const [index, name] of beside.entries()) {
  tape(`signals: beside ${name}`, { skip: missing(name) }, async (t) => {
    for (const [at, signal] of SIGNALS.entries()) {
      for (const position of ['before', 'after']) {
        for (const isTwice of [false, true]) {
          // Of the twelve, a short run tries two in turn, and SIGTERM always.
          const isChosen = (signal === 'SIGTERM' && !isTwice) || (position === 'before' && (index + at) % 3 === 0 && isTwice)
          if (IS_LONG || isChosen) await compare(t, { name, signal, position, isTwice })
        }
      }
    }
  })
}

const canUnshare = !IS_WINDOWS && spawnSync(UNSHARE[0], [...UNSHARE.slice(1), 'true']).status === 0
const noProcess1 = canUnshare ? false : 'a process 1 needs unshare, and root'

for (const [index, name] of beside.entries()) {
  if (!IS_LONG && index % 3 > 0) continue
  tape(`signals: as process 1, beside ${name}`, { skip: missing(name) || noProcess1 }, async (t) => {
    for (const signal of IS_LONG ? SIGNALS : ['SIGTERM']) {
      for (const position of IS_LONG ? ['before', 'after'] : ['after']) {
        await compare(t, { name, signal, position, wrapper: UNSHARE })
      }
    }
  })
}

tape('signals: as process 1 of which nobody has thought, they end it, which they do not without a logger', { skip: noProcess1 }, async (t) => {
  for (const [signal, code] of [['SIGTERM', 143], ['SIGINT', 130], ['SIGHUP', 129]]) {
    const folder = newFolder()
    const row = { name: 'nothing', signal, position: 'after', wrapper: UNSHARE }
    const [without, { ended, errors, counts }] = await Promise.all([run({ ...row, folder: '' }), run({ ...row, folder })])
    t.deepEqual([without.ended, ended, errors], ['runs on', String(code), ''])
    await checkLines(t, folder, counts, signal)
  }
})

tape('signals: below an init they do what they do everywhere', { skip: noProcess1 }, async (t) => {
  const wrapper = [...UNSHARE, 'sh', '-c', '"$@" & wait $!', 'init']
  for (const name of ['nothing', 'a slow shutdown with once', 'signal-exit 4']) {
    if (missing(name)) t.comment(`${name}: ${missing(name)}`)
    else await compare(t, { name, signal: 'SIGTERM', position: 'before', wrapper })
  }
})
