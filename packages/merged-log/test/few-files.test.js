'use strict'
// A process may have few files open, which all of its logs share: what one has open for later is closed for another.

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const path = require('node:path')
const tape = require('tape')
const { isLongRun, newPath } = require('@millrace/testkit')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const [SEGMENTS, FILES, STEPS] = isLongRun ? [150, 140, 60] : [40, 90, 5]

/** `ulimit` is of a POSIX shell. */
tape(`few files: of several logs (seed ${seed})`, { skip: process.platform === 'win32' }, async (t) => {
  const file = path.join(__dirname, 'few-files-child.js')
  const args = ['-c', `ulimit -n ${FILES}; exec "$@"`, 'sh', process.execPath, file, newPath('logs'), seed, SEGMENTS, STEPS]
  const child = spawn('sh', args.map(String), { stdio: ['ignore', 'inherit', 'pipe'] })
  let text = ''
  child.stderr.on('data', (bytes) => { text += bytes })
  const [code] = await once(child, 'close')
  t.equal(code === 0 ? '' : `${code} ${text}`, '')
})
