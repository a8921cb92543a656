'use strict'
// What a terminal gets: nothing that it would obey, whatever is in a record; and how the command behaves in a pipe, and
// when it is interrupted.

const { spawn, spawnSync } = require('node:child_process')
const { EventEmitter, once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const { PassThrough } = require('node:stream')
const { setTimeout: wait } = require('node:timers/promises')
const { gzipSync } = require('node:zlib')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { open } = require('..')
const { command: append } = require('../lib/cli/commands/append')
const { printRecords } = require('../lib/cli/records')
const { Shell } = require('../lib/cli/shell')
const { escapeControls } = require('@millrace/flow')
const { makeLog } = require('./make-log')
const { BIN, runCommand } = require('./run-command')

const EVIL = '<script>alert(1)</script>\u001b[31mred\u001b]0;title\u0007\u009b2J\u007f\u202eabc\u2066\u200f\u0000'
// eslint-disable-next-line no-control-regex -- these are the ones that must not come
const HARMFUL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

/** Runs the binary on a terminal of its own, if the system has the program `script`. */
function onTerminal (words, env = {}) {
  const line = [process.execPath, BIN, ...words].map((word) => `'${word}'`).join(' ')
  const { error, stdout, status } = spawnSync('script', ['-qec', line, '/dev/null'], {
    encoding: 'utf8', env: { ...process.env, TERM: 'xterm', ...env }, input: '', maxBuffer: 64 * 1024 * 1024
  })
  return error || process.platform !== 'linux' ? null : { stdout: stdout.replaceAll('\r\n', '\n'), status }
}

tape('terminal: what is in a record is spelled out, and means the same', async (t) => {
  const file = await makeLog([{ text: EVIL }])
  const { stdout } = await runCommand(['cat', file])
  t.doesNotMatch(stdout, HARMFUL)
  t.deepEqual(JSON.parse(stdout), { text: EVIL })
  for (const words of [['tail'], ['cat', '--seqs'], ['export']]) {
    const { stdout } = await runCommand([words[0], file, ...words.slice(1), ...(words[0] === 'export' ? ['-'] : [])])
    t.doesNotMatch(stdout, HARMFUL, words.join(' '))
    t.ok(stdout.includes('u001b'), 'it is there')
  }
})

tape('terminal: raw bytes, names of files and errors are spelled out there, too', async (t) => {
  const file = await makeLog([Buffer.from(EVIL)], { codec: 'bytes' })
  const shown = onTerminal(['cat', file, '--raw'])
  if (shown === null) return t.skip('there is no program script')
  t.doesNotMatch(shown.stdout, HARMFUL)
  t.deepEqual((await runCommand(['cat', file, '--raw'])).bytes, Buffer.from(`${EVIL}\n`), 'a pipe gets the bytes')
  const { stdout, status } = onTerminal(['cat', 'no\u001b[2Jlog'])
  t.doesNotMatch(stdout, HARMFUL)
  t.equal(status, 2)
})

tape('terminal: a record of 10 MB is cut there, and whole in a pipe', async (t) => {
  const text = 'long '.repeat(2_000_000)
  const file = await makeLog([{ text }, { n: 2 }])
  const { stdout } = await runCommand(['cat', file])
  t.equal(JSON.parse(stdout.split('\n')[0]).text.length, text.length)
  const shown = onTerminal(['cat', file])
  if (shown === null) return t.skip('there is no program script')
  t.ok(shown.stdout.length < 20_000, `${shown.stdout.length}`)
  t.match(shown.stdout, /more characters; --full prints them/)
})

tape('terminal: colours only there, and never under NO_COLOR', async (t) => {
  const file = await makeLog([1])
  t.doesNotMatch((await runCommand(['verify', file])).stdout, HARMFUL)
  const shown = onTerminal(['verify', file])
  if (shown === null) return t.skip('there is no program script')
  t.ok(shown.stdout.includes('\u001b[32mwhole'), 'green')
  t.notOk(onTerminal(['verify', file], { NO_COLOR: '1' }).stdout.includes('\u001b[32m'))
})

tape('escapeControls: every character that a terminal obeys, and no other', (t) => {
  for (let code = 0; code < 0x3000; code++) {
    const character = String.fromCharCode(code)
    const isHarmful = HARMFUL.test(character) || code === 10 || code === 0x2028 || code === 0x2029
    if ((escapeControls(character) !== character) !== isHarmful) t.fail(`U+${code.toString(16)}`)
    if (JSON.parse(escapeControls(JSON.stringify(character))) !== character) t.fail(`U+${code.toString(16)} as JSON`)
  }
  t.pass('12,288 of them')
  t.end()
})

tape('pipes: a closed one ends the command quietly, at once', async (t) => {
  const file = await makeLog(Array.from({ length: 20_000 }, (_, n) => ({ n, text: 'x'.repeat(500) })))
  for (const words of [['cat', file], ['export', file, '-'], ['tail', '-n', '20000', '-f', file]]) {
    const { code, stderr, head } = await new Promise((resolve) => {
      const child = spawn(process.execPath, [BIN, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
      const said = { stderr: '', head: '' }
      child.stderr.on('data', (text) => { said.stderr += text })
      child.stdout.once('data', (text) => {
        said.head = String(text)
        child.stdout.destroy()
      })
      child.on('close', (code) => resolve({ ...said, code }))
    })
    t.equal(code, 0, words[0])
    t.equal(stderr, '', 'nothing is said')
    t.ok(head.startsWith('{"n":0,'))
  }
  t.equal((await runCommand(['cat', file])).stdout.split('\n').length, 20_001, 'all of it, if nobody closes')
})

tape('pipes: the first record of a large log is there before the log is read to its end', async (t) => {
  if (process.platform !== 'linux') return t.end()
  const file = await makeLog(Array.from({ length: 50_000 }, (_, n) => ({ n, text: 'x'.repeat(500) })))
  const child = spawn(process.execPath, [BIN, 'cat', file], { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  child.stdout.pause()
  // Program code is read, too: some megabytes.
  const [, readSize] = /^rchar: (\d+)/m.exec(fs.readFileSync(`/proc/${child.pid}/io`, 'utf8'))
  t.ok(readSize < fs.statSync(file).size / 2, `${readSize} bytes were read, of ${fs.statSync(file).size}`)
  child.stdout.destroy()
  t.deepEqual(await once(child, 'close'), [0, null])
})

tape('pipes: a log on standard input', async (t) => {
  const file = await makeLog([{ n: 1 }, { n: 2 }])
  const input = fs.readFileSync(file)
  t.equal((await runCommand(['cat', '-'], { input })).stdout, '{"n":1}\n{"n":2}\n')
  t.equal((await runCommand(['verify', '-', '-q'], { input })).code, 0)
  t.equal((await runCommand(['verify', '-', '-q'], { input: input.subarray(0, -3) })).code, 1)
})

tape('pipes: what is no log is said of standard input, and not of the file that it becomes', async (t) => {
  for (const [input, said] of [
    ['some text\n', /^millrace: standard input is a text file, not a log; check the path\n$/],
    [gzipSync('{"n":1}\n'), /^millrace: standard input is compressed with gzip; if a log is in it: gunzip -c FILE \| millrace cat -\n$/],
    [Buffer.from([0, 1, 2]), /^millrace: standard input is not a log\b[^/]+\n$/]
  ]) {
    for (const name of ['verify', 'cat', 'info']) {
      const { code, stderr } = await runCommand([name, '-'], { input })
      t.match(stderr, said, name)
      t.equal(code, 1)
    }
  }
  const input = '{"n":1}\n'
  t.match((await runCommand(['verify', '-'], { input })).stdout, /^standard input: whole; lines/)
  t.match((await runCommand(['info', '-'], { input })).stdout, /^path +standard input\n/)
})

tape('compressed: a text that another program compressed is not called damaged, with advice that leads nowhere', async (t) => {
  const file = path.join(temporaryFolder(), 'app.jsonl.gz')
  fs.writeFileSync(file, gzipSync('{"n":1}\n'))
  for (const name of ['verify', 'cat', 'repair']) {
    const { stderr } = await runCommand([name, file])
    t.match(stderr, /or another program compressed the file: then decompress it first/, name)
    t.notOk(/millrace verify/.test(stderr), 'verify says the same')
  }
})

tape('signals: SIGINT ends a command as a signal does, and leaves nothing half-written', async (t) => {
  if (process.platform === 'win32') return t.skip('there are no signals')
  const file = await makeLog([{ n: 1 }])
  const tail = await runCommand(['tail', '-f', file], {
    input: null,
    onSpawn: (child) => child.stdout.once('data', () => child.kill('SIGINT'))
  })
  t.equal(tail.signal, 'SIGINT')
  t.equal(tail.stdout, '{"n":1}\n')
  const appended = await runCommand(['append', file, '--seqs'], {
    input: null,
    onSpawn: (child) => {
      child.stdin.write('{"n":2}\n{"n":')
      child.stdout.once('data', () => child.kill('SIGINT'))
    }
  })
  t.equal(appended.signal, 'SIGINT')
  t.equal((await runCommand(['cat', file])).stdout, '{"n":1}\n{"n":2}\n')
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['events.log'], 'the log was closed')
})

tape('signals: a log on standard input leaves no copy behind, whichever signal ends the command', async (t) => {
  if (process.platform === 'win32') return t.skip('there are no signals')
  for (const sent of ['SIGINT', 'SIGHUP']) {
    const folder = temporaryFolder()
    const { signal } = await runCommand(['cat', '-'], {
      input: null,
      env: { TMPDIR: folder },
      onSpawn: async (child) => {
        child.stdin.write(Buffer.alloc(100_000))
        while (fs.readdirSync(folder).length === 0) await wait(10)
        child.kill(sent)
      }
    })
    t.equal(signal, sent)
    t.deepEqual(fs.readdirSync(folder), [])
  }
})

tape('signals: one that comes while a log is opened, or while nothing matches, is heeded', async (t) => {
  const file = await makeLog([{ n: 1 }])
  const source = async function * () {
    for (let count = 1; count <= 3; count++) {
      taken = count
      yield { seq: count, value: '{}' }
    }
  }
  let taken = 0
  const output = { isTerminal: false, signal: AbortSignal.abort(), write: async () => {} }
  t.equal(await printRecords(output, source(), { grep: 'none' }), 0)
  t.equal(taken, 1, 'a search without a match ends')
  const input = new PassThrough()
  const [stdout, stderr] = [new EventEmitter(), new EventEmitter()]
  const stopped = Object.assign(new EventEmitter(), { stdin: input, stdout, stderr, env: {} })
  const interrupted = new Shell(stopped)
  stopped.emit('SIGINT')
  await append.run({ args: { file, values: [] }, options: {}, shell: interrupted })
  t.ok(input.destroyed, 'append waits for no more input')
})

tape('signals: a copy, a repair or a compaction that is interrupted leaves the log and nothing else', async (t) => {
  if (process.platform === 'win32') return t.skip('there are no signals')
  const folder = temporaryFolder()
  const file = path.join(folder, 'events.log')
  const log = open(file, { codec: 'bytes' })
  for (let i = 0; i < 300; i++) await log.append(Buffer.alloc(1024 * 1024, i))
  await log.del(await log.first().then(({ seq }) => seq))
  await log.close()
  const { size } = fs.statSync(file)
  for (const words of [['snapshot', file, `${file}.copy`], ['repair', file, `${file}.copy`, '--write'], ['compact', file]]) {
    const { code, signal, stderr } = await runCommand(words, {
      onSpawn: async (child) => {
        // Beside the log and its lock, until something is being written.
        while (child.exitCode === null && !fs.readdirSync(folder).some((name) => /new$|compacting$/.test(name))) await wait(1)
        child.kill('SIGINT')
      }
    })
    t.deepEqual([code, signal, stderr], [null, 'SIGINT', ''], words[0])
    t.deepEqual(fs.readdirSync(folder), ['events.log'], words[0])
    t.equal(fs.statSync(file).size, size)
  }
})

tape('pipes: what verify has found decides its exit code, also if nobody reads its output', async (t) => {
  if (process.platform === 'win32') return t.skip('there is no /dev/full')
  const file = await makeLog([{ n: 1 }, { n: 2 }])
  fs.truncateSync(file, fs.statSync(file).size - 3)
  const { code } = await runCommand(['verify', file], { onSpawn: (child) => child.stdout.destroy() })
  t.equal(code, 1)
})

tape('append: a value on the command line is one record, whatever lines it has, and an empty one is refused', async (t) => {
  const file = await makeLog([{ n: 1 }])
  t.equal((await runCommand(['append', file, '{"n":\n2}', '{"n":3}'])).code, 0)
  t.equal((await runCommand(['count', file])).stdout, '3\n')
  const { code, stderr } = await runCommand(['append', file, '4', '', '5'])
  t.equal(code, 1)
  t.match(stderr, /value 2 is no record: .*; what comes before it was appended \(1\)/)
  t.equal((await runCommand(['cat', file])).stdout, '{"n":1}\n{"n": 2}\n{"n":3}\n4\n', 'still a line each')
})
