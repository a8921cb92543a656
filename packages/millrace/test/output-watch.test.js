'use strict'
// A command whose output nobody reads any more ends without the next record, which may never come.

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { makeLog } = require('./make-log')
const { BIN } = require('./run-command')

/** @param {any} t @param {string} line  of a shell, with $millrace */
async function runLine (t, line) {
  const millrace = `'${process.execPath}' '${BIN}'`
  const child = spawn('sh', ['-c', line.replaceAll('$millrace', millrace)], { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  t.teardown(() => { try { process.kill(-child.pid, 'SIGKILL') } catch {} })
  const said = { out: '', err: '' }
  child.stdout.on('data', (text) => { said.out += text })
  child.stderr.on('data', (text) => { said.err += text })
  await once(child, 'close')
  return said
}

tape('tail -f: it ends when nobody reads its output any more, without another record', async (t) => {
  if (process.platform === 'win32') return t.skip('there is no sh')
  const file = await makeLog([{ n: 1 }, { n: 2 }])
  const none = path.join(temporaryFolder(), 'none.log')
  for (const [words, seen] of [[`-f '${file}'`, '{"n":1}\n'], [`-F '${file}'`, '{"n":1}\n'], [`-n 0 -f '${file}'`, ''], [`-F '${none}'`, '']]) {
    const reader = seen === '' ? 'true' : 'head -n 1'
    const { out, err } = await runLine(t, `{ $millrace tail ${words}; echo "code $?" >&2; } | ${reader}`)
    t.equal(out, seen, words)
    t.equal(err.replace(/^millrace: .*none\.log has no log yet; waiting for one\n/, ''), 'code 0\n', words)
  }
})

tape('tail -f: it goes on while somebody has a pipe open, read or not', async (t) => {
  if (process.platform === 'win32') return t.skip('there is no sh')
  const file = await makeLog([{ n: 1 }])
  const pid = path.join(temporaryFolder(), 'pid')
  // The second reader comes when the first has long gone, and the pipe was never without one.
  const line = `{ $millrace tail -f '${file}' & echo $! > '${pid}'; wait; } | { head -n 1; sleep 1; kill -0 $(cat '${pid}') && echo alive; kill $(cat '${pid}'); }`
  const { out } = await runLine(t, line)
  t.equal(out, '{"n":1}\nalive\n')
  t.ok(fs.existsSync(pid))
})
