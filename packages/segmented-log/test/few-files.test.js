'use strict'
// Logs of many segments with an index, in processes that may have fewer files open than there are segments, or runs of
// the index: every answer is that of a scan.

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const path = require('node:path')
const tape = require('tape')
const { createRandom, isLongRun, newPath } = require('@millrace/testkit')
const { STEPS, Writer, makeWhere } = require('./few-files-child')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const [SEGMENTS, FILES, STEP_COUNT] = isLongRun ? [300, 100, 40] : [80, 48, 5]
/** `ulimit` is of a POSIX shell. */
const skip = process.platform === 'win32'

/** A process that may have few files open. */
function start (role, folder, own = seed) {
  const file = path.join(__dirname, 'few-files-child.js')
  const args = ['-c', `ulimit -n ${FILES}; exec "$@"`, 'sh', process.execPath, file, role, folder, own, SEGMENTS, STEP_COUNT]
  const child = spawn('sh', args.map(String), { stdio: ['ignore', 'inherit', 'pipe', 'ipc'] })
  let text = ''
  child.stderr.on('data', (bytes) => { text += bytes })
  const ended = once(child, 'close').then(([code]) => code === 0 ? '' : `${code} ${text}`)
  return { child, ended }
}

for (const role of ['writer', 'live']) {
  tape(`few files: ${role} (seed ${seed})`, { skip }, async (t) => {
    t.equal(await start(role, newPath('logs')).ended, '')
  })
}

tape(`few files: a follower of a writer that merges and drops what it has not open (seed ${seed})`, { skip }, async (t) => {
  const folder = newPath('logs')
  const random = createRandom(seed)
  const writer = new Writer(folder, random)
  await writer.fill(SEGMENTS)
  const { child, ended } = start('follower', folder, seed + 1)
  const answer = () => Promise.race([once(child, 'message'), ended])
  await answer()
  for (let step = 0; step < STEP_COUNT && child.exitCode === null; step++) {
    await writer.runSteps(1, STEPS)
    await writer.log.sync()
    const where = makeWhere(random, writer.count)
    const answered = answer()
    child.send({ where, right: writer.find(where).map(({ seq }) => seq) }, () => {})
    await answered
  }
  child.send('end', () => {})
  t.equal(await ended, '')
  await writer.log.close()
})
