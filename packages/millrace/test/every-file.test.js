'use strict'
// Every command, as the real binary, on every kind of file: the right output, the right exit code.

const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { isLongRun, newPath, temporaryFolder } = require('@millrace/testkit')
const { open } = require('..')
const { commandNames } = require('../lib/cli/commands')
const { RECORD_COUNT, holdLog, makeFiles } = require('./kinds-of-files')
const { BIN, runCommand } = require('./run-command')

const KINDS = ['ssb', 'checked', 'truncated', 'flipped', 'empty', 'folder', 'missing', 'text', 'written', 'secret']
const isRoot = process.getuid?.() === 0
// Root may open everything, so somebody else tries a file without permission, if they may read this source.
const NOBODY = 65534
const somebody = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
const hasSomebody = spawnSync(process.execPath, [BIN, '--version'], somebody).status === 0

// Exit codes, in the order of KINDS.
const READING = [0, 0, 1, 1, 0, 2, 2, 1, 0, 2]
// Opening reads the end of a log, not all of it.
const WRITING = [0, 0, 1, 0, 0, 2, 0, 1, 1, 2]

/** @type {Record<string, { words: (file: string, seq: number) => string[], codes: number[], input?: string }>} */
const commands = {
  info: { words: (file) => ['info', file, '--json'], codes: [0, 0, 1, 0, 0, 2, 2, 1, 0, 2] },
  cat: { words: (file) => ['cat', file], codes: READING },
  tail: { words: (file) => ['tail', file, '-n', '1000000'], codes: READING },
  get: { words: (file, seq) => ['get', file, String(seq)], codes: [0, 0, 0, 0, 1, 2, 2, 1, 0, 2] },
  count: { words: (file) => ['count', file, '--json'], codes: READING },
  append: { words: (file) => ['append', file, '{"type":"new"}'], codes: WRITING },
  import: { words: (file) => ['import', file], codes: WRITING, input: '{"type":"new"}\n' },
  export: { words: (file) => ['export', file, `${file}.ndjson`], codes: READING },
  convert: { words: (file) => ['convert', file, `${file}.new`, '--json'], codes: READING },
  del: { words: (file, seq) => ['del', file, String(seq)], codes: [0, 0, 1, 0, 1, 2, 2, 1, 1, 2] },
  // Only a checked log can be compacted.
  compact: { words: (file) => ['compact', file, '--json'], codes: [2, 0, 1, 1, 0, 2, 2, 1, 1, 2] },
  // What is damaged before the end is left to scans.
  index: { words: (file) => ['index', file, '--path', 'type', '--json'], codes: [2, 0, 1, 0, 2, 2, 2, 1, 1, 2] },
  verify: { words: (file) => ['verify', file, '--json'], codes: READING },
  repair: { words: (file) => ['repair', file, '--json'], codes: READING },
  snapshot: { words: (file) => ['snapshot', file, `${file}.copy`, '--json'], codes: READING },
  bench: { words: (file) => ['bench', file, '--runs', '1', '--json'], codes: READING }
}

/** @type {Record<string, (t: any, output: string, kind: string) => void>} what a good run prints */
const outputs = {
  info: (t, output, kind) => {
    const { framing, damage } = JSON.parse(output)
    t.equal(framing, kind === 'ssb' ? 'offset32' : kind === 'empty' ? null : 'checked')
    t.equal(damage.length > 0, ['truncated', 'flipped'].includes(kind) && damage.length > 0)
  },
  cat: (t, output, kind) => t.equal(linesOf(output).map((line) => JSON.parse(line)).length, countOf(kind)),
  tail: (t, output, kind) => t.equal(linesOf(output).length, countOf(kind)),
  count: (t, output, kind) => t.equal(JSON.parse(output).records, countOf(kind)),
  convert: (t, output, kind) => t.equal(JSON.parse(output).records, countOf(kind)),
  verify: (t, output, kind) => t.equal(JSON.parse(output).records, countOf(kind)),
  repair: (t, output, kind) => t.equal(JSON.parse(output).recovered, countOf(kind)),
  get: (t, output) => t.equal(linesOf(output).length, 1),
  compact: (t, output) => t.ok(JSON.parse(output).size > 0),
  index: (t, output, kind) => t.equal(JSON.parse(output).records > 0, kind !== 'empty'),
  snapshot: (t, output) => t.ok(JSON.parse(output).size >= 0),
  bench: (t, output) => t.ok(JSON.parse(output).rows.length >= 4)
}

function countOf (kind) {
  return { ssb: 2000, checked: RECORD_COUNT, empty: 0, written: RECORD_COUNT + 1 }[kind]
}

function linesOf (text) {
  return text.split('\n').filter(Boolean)
}

const CHANGING = ['append', 'import', 'del', 'compact', 'index']

/** What only reads shares one set of files. */
let shared = null
async function filesFor (name) {
  if (CHANGING.includes(name)) return makeSet()
  shared ??= await makeSet()
  return shared
}

async function makeSet () {
  const folder = temporaryFolder()
  const { seq } = await makeFiles(folder)
  if (isRoot) fs.chmodSync(folder, 0o777)
  return { folder, seq, release: await holdLog(path.join(folder, 'written')) }
}

function checkLeft (t, folder) {
  const left = fs.readdirSync(folder).filter((entry) => /\.(part|compacting)$|[0-9a-f]{16}\.new$|\.lock$/.test(entry))
  t.deepEqual(left, [], 'nothing unfinished is left')
}

// A run of the binary costs a start of Node.js. A quick run gives each command half of the kinds, and each kind to half
// of the commands; a long run does all.
for (const [position, [name, { words, codes, input }]] of Object.entries(commands).entries()) {
  const kinds = KINDS.filter((kind, index) => (isLongRun || (position + index) % 2 === 1) && (kind !== 'secret' || hasSomebody))
  tape(`${name}: on every kind of file`, async (t) => {
    const { folder, seq, release } = await filesFor(name)
    const check = async (kind) => {
      const code = codes[KINDS.indexOf(kind)]
      const options = kind === 'secret' ? { input, ...somebody } : { input }
      const run = await runCommand(words(path.join(folder, kind), kind === 'ssb' ? 0 : seq), options)
      t.equal(run.code, code, `${kind}: exit code ${code} ${run.stderr}`)
      t.doesNotMatch(run.stderr, /\n +at /, 'no stack')
      if (run.code === 0) outputs[name]?.(t, run.stdout, kind)
      else if (run.code === 2) t.match(run.stderr, /^millrace: .+\n/, 'a sentence')
    }
    if (!hasSomebody) t.comment('without permission: skipped, as nobody but root may read this source')
    await Promise.all(kinds.map(check))
    if (!CHANGING.includes(name)) return
    await release()
    checkLeft(t, folder)
  })
}

tape('commands: those that read leave nothing behind', async (t) => {
  const { folder, release } = shared
  await release()
  checkLeft(t, folder)
})

tape('holdLog: the holder of a log ends when the process that started it is killed', async (t) => {
  const file = newPath('events.log')
  const script = `require(${JSON.stringify(path.join(__dirname, 'kinds-of-files'))}).holdLog(${JSON.stringify(file)})
    .then(() => { console.log('held'); setInterval(() => {}, 1000) })`
  const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(parent.stdout, 'data')
  parent.kill('SIGKILL')
  // It has the log's lock until it has ended.
  const log = open(file, { lockTimeout: 30_000 })
  t.ok(await log.append({ type: 'next' }) > 0)
  await log.close()
})

tape('commands: each is in this file', (t) => {
  // `view` and `serve` serve until they are interrupted: viewer.test.js and serve.test.js run them. `ship` needs a
  // server: packages/jetstream/test/command.test.js runs it.
  t.deepEqual([...Object.keys(commands), 'completion', 'view', 'serve', 'keys', 'ship'].sort(), [...commandNames].sort())
  t.end()
})

const skip = process.platform === 'win32' ? 'no folder is like that there' : !hasSomebody && 'nobody else may read this source'

tape('every file: export, and snapshot of a folder, into a folder that may be written, but not read', { skip }, async (t) => {
  const folder = temporaryFolder()
  fs.chmodSync(folder, 0o755)
  const file = path.join(folder, 'a.log')
  const log = open(file)
  await log.append({ type: 'post' })
  await log.close()
  const segments = path.join(folder, 'segments')
  fs.mkdirSync(segments)
  fs.copyFileSync(file, path.join(segments, '0000000000000000-20260101T000000000Z.log'))
  for (const name of [file, ...fs.readdirSync(segments).map((name) => path.join(segments, name))]) {
    fs.chmodSync(name, 0o644)
  }
  fs.chmodSync(segments, 0o755)
  const target = path.join(folder, 'target')
  fs.mkdirSync(target)
  fs.chmodSync(target, 0o333)
  for (const words of [['export', file, path.join(target, 'a.ndjson')], ['snapshot', segments, path.join(target, 'copy')]]) {
    const { code, stderr } = await runCommand(words, somebody)
    t.equal(code, 0, stderr)
  }
  fs.chmodSync(target, 0o755)
  t.deepEqual(fs.readdirSync(target).sort(), ['a.ndjson', 'copy'])
  t.equal(fs.readFileSync(path.join(target, 'a.ndjson'), 'utf8'), '{"type":"post"}\n')
})
