'use strict'
// Every example does what it says, with wrong input too.

const { spawn, spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { temporaryFolder, until } = require('@millrace/testkit')

const folder = path.join(__dirname, '..', 'examples')

/** @param {string} name  @param {...string} args */
function run (name, ...args) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [path.join(folder, name), ...args], {
    encoding: 'utf8', timeout: 120_000
  })
  return { lines: stdout.split('\n').filter(Boolean), stderr, status }
}

/** @param {() => boolean} isTrue */
tape('examples: the counter counts, takes back, and knows its history', (t) => {
  const file = path.join(temporaryFolder(), 'counter.log')
  t.deepEqual(run('counter.js', file, 'add', '5').lines, ['5'])
  t.deepEqual(run('counter.js', file, 'add', '-2').lines, ['3'])
  t.deepEqual(run('counter.js', file, 'undo').lines, ['5'])
  t.deepEqual(run('counter.js', file, 'value').lines, ['5'])
  const { lines } = run('counter.js', file, 'history')
  t.deepEqual(lines.map((line) => line.replace(/^\S+Z /, '')), ['added 5: 5', 'added -2: 3', 'undone -2: 5', '5'])
  t.equal(run('counter.js').status, 1, 'wrong input')
  t.equal(run('counter.js', file, 'add', 'many').status, 1)
  t.end()
})

tape('examples: the chat shows what was said, and its view who said how much', (t) => {
  const file = path.join(temporaryFolder(), 'chat.log')
  t.deepEqual(run('chat.js', file).lines, ['messages: none'])
  run('chat.js', file, 'ada', 'hello')
  run('chat.js', file, 'bob', 'hi')
  const { lines, stderr } = run('chat.js', file, 'ada', 'how are you?')
  t.deepEqual(lines, ['ada: hello', 'bob: hi', 'ada: how are you?', 'messages: ada 2, bob 1'], stderr)
  t.equal(run('chat.js', file, 'ada').status, 1, 'wrong input')
  t.end()
})

tape('examples: tail shows what another process writes, and goes on after it was killed', async (t) => {
  const file = path.join(temporaryFolder(), 'app.log')
  const script = path.join(folder, 'tail.js')
  const write = () => spawn(process.execPath, [script, file, '--write'], { stdio: ['pipe', 'inherit', 'inherit'] })
  const first = write()
  first.stdin.write('one\ntwo\n')
  await until(() => fs.existsSync(file))
  const reader = spawn(process.execPath, [script, file, '--last', '1000'], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  reader.stdout.on('data', (data) => { output += data })
  const lines = () => output.split('\n').filter(Boolean).map((line) => line.split(' ').slice(2).join(' '))
  await until(() => lines().length === 2)
  first.kill('SIGKILL')
  await new Promise((resolve) => first.once('exit', resolve))
  const second = write()
  second.stdin.end('three\n')
  await until(() => lines().length === 3)
  t.deepEqual(lines(), ['one', 'two', 'three'])
  const ended = new Promise((resolve) => reader.once('exit', resolve))
  reader.kill('SIGINT')
  t.equal(await ended, 0, 'it ends when it is told to')
  const { stderr, status } = run('tail.js', `${file}-that-is-not-there`)
  t.ok(status === 1 && stderr.includes('ENOENT'), stderr)
  t.equal(run('tail.js').status, 1)
})
