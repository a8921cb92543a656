'use strict'
// Folders where a command may take a file: what works on segments does, and what does not says what to do.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SlotLog } = require('@millrace/merged-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { isLongRun, newPath, until, temporaryFolder } = require('@millrace/testkit')
const { callCommand, runCommand } = require('./run-command')

const COUNT = 9
const numbers = (count) => Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join('')

/** @returns {Promise<{ folder: string, log: any }>} a log of segments, in use */
async function makeSegments (options) {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { codec: jsonCodec, ...options })
  for (let n = 0; n < COUNT; n++) {
    await log.append({ n })
    if (n % 3 === 2) await log.roll()
  }
  return { folder, log }
}

tape('snapshot: a folder of segments that is written, some of them compressed', async (t) => {
  const { folder, log } = await makeSegments({ compress: 'gzip' })
  await until(() => fs.readdirSync(folder).some((name) => name.endsWith('.gz')))
  await log.append({ n: COUNT })
  const copy = newPath('copy')
  const { code, stdout, stderr } = await callCommand(['snapshot', folder, copy])
  t.equal(code, 0, stderr)
  t.match(stdout, /bytes.* copied/)
  await log.close()
  t.equal((await callCommand(['cat', copy])).stdout, numbers(COUNT + 1))
  t.equal((await callCommand(['verify', copy, '--quiet'])).code, 0)
  const restored = SegmentedLog(copy, { codec: jsonCodec })
  await restored.append({ n: COUNT + 1 })
  await restored.close()
  t.equal((await callCommand(['count', copy])).stdout, `${COUNT + 2}\n`)
  const again = await callCommand(['snapshot', folder, copy])
  t.equal(again.code, 2)
  t.match(again.stderr, /copy: something is there already/)
  t.deepEqual(fs.readdirSync(path.dirname(copy)), ['copy'])
})

tape('snapshot: the path of the copy may end with a slash, as that of a folder', async (t) => {
  const { folder, log } = await makeSegments()
  await log.close()
  const copy = newPath('copy')
  const { code, stderr } = await callCommand(['snapshot', folder, `${copy}/`])
  t.equal(code, 0, stderr)
  t.equal((await callCommand(['count', copy])).stdout, `${COUNT}\n`)
  t.deepEqual(fs.readdirSync(path.dirname(copy)), ['copy'])
})

// The long form runs other processes.
const seesSyncs = process.platform === 'linux' && !isLongRun
tape('snapshot, export: what was made keeps its name through a power cut', { skip: !seesSyncs }, async (t) => {
  const { folder, log } = await makeSegments()
  await log.close()
  const synced = []
  const { fsyncSync } = fs
  fs.fsyncSync = (fd) => {
    synced.push(fs.readlinkSync(`/proc/self/fd/${fd}`))
    fsyncSync(fd)
  }
  for (const name of ['snapshot', 'export']) {
    const made = newPath(name)
    const { code, stderr } = await callCommand([name, folder, made])
    t.equal(code, 0, stderr)
    t.equal(synced.splice(0).at(-1), fs.realpathSync(path.dirname(made)), name)
  }
  fs.fsyncSync = fsyncSync
})

tape('snapshot: something that comes to the path of the copy meanwhile stays', async (t) => {
  const { folder, log } = await makeSegments({})
  await log.close()
  const copy = newPath('copy')
  const parent = path.dirname(copy)
  const copying = callCommand(['snapshot', folder, copy])
  await until(() => fs.readdirSync(parent).some((name) => name.endsWith('.new')))
  fs.mkdirSync(copy)
  fs.writeFileSync(path.join(copy, 'theirs'), '')
  const { code, stderr } = await copying
  t.equal(code, 2)
  t.match(stderr, /copy: something is there already; give another path/)
  t.deepEqual([fs.readdirSync(parent), fs.readdirSync(copy)], [['copy'], ['theirs']])
})

tape('snapshot, export: the next one removes what a killed one has left: in a container, where both are process 1, it failed', async (t) => {
  const { folder, log } = await makeSegments({})
  await log.close()
  const preload = newPath('preload.js')
  // When all is there but the name.
  fs.writeFileSync(preload, 'require("node:fs").renameSync = () => process.kill(process.pid, "SIGKILL")')
  for (const name of ['snapshot', 'export']) {
    const made = newPath(name)
    const { signal } = await runCommand([name, folder, made], { env: { NODE_OPTIONS: `--require "${preload}"` } })
    t.equal(signal, 'SIGKILL')
    t.ok(fs.readdirSync(path.dirname(made)).length > 0, 'left')
    const { code, stderr } = await callCommand([name, folder, made])
    t.equal(code, 0, stderr)
    t.deepEqual(fs.readdirSync(path.dirname(made)), [name])
  }
})

tape('snapshot: a damaged segment leaves no copy', async (t) => {
  const { folder, log } = await makeSegments({})
  const [{ path: first }] = await log.segments()
  await log.close()
  const bytes = fs.readFileSync(first)
  bytes[32_815] ^= 1
  fs.writeFileSync(first, bytes)
  const copy = newPath('copy')
  t.equal((await callCommand(['snapshot', folder, copy])).code, 1)
  t.deepEqual(fs.readdirSync(path.dirname(copy)), [])
})

tape('folders: what changes or reads one file says so, and what to do instead', async (t) => {
  const { folder, log } = await makeSegments({})
  await log.close()
  for (const [words, advice] of [
    [['append', folder, '{}'], /Programs change this one, with SegmentedLog or SlotLog/],
    [['del', folder, '1'], /Programs change this one, with SegmentedLog or SlotLog/],
    [['compact', folder], /compact works on one file\. Segments give space back as the oldest are dropped: .*maxSize/],
    [['repair', folder], /millrace verify .* says which files are damaged/],
    [['convert', folder, `${folder}.new`], /millrace export .* - \| millrace import/],
    [['bench', folder], /bench works on one file/]
  ]) {
    const { code, stderr } = await callCommand(words)
    t.equal(code, 2, words[0])
    t.match(stderr, /^millrace: \S+ is a folder of segments; /)
    t.match(stderr, advice)
  }
  const slots = newPath('slots')
  const slot = SlotLog(slots, { codec: jsonCodec })
  await slot.append({ n: 0 })
  await slot.close()
  for (const words of [['append', slots, '{}'], ['compact', slots], ['snapshot', slots, `${slots}.copy`]]) {
    const { code, stderr } = await callCommand(words)
    t.equal(code, 2, words[0])
    t.match(stderr, /^millrace: \S+ is a folder that several processes write; /)
  }
})

tape('folders: one without a log is a folder, for every command', async (t) => {
  const folder = newPath('empty')
  fs.mkdirSync(folder)
  const lines = newPath('lines.ndjson')
  fs.writeFileSync(lines, '{}\n')
  for (const [name, ...others] of [
    ['info'], ['cat'], ['tail'], ['get', '1'], ['count'], ['append', '{}'], ['import', lines], ['export', `${folder}.out`],
    ['convert', `${folder}.new`], ['del', '1'], ['compact'], ['index'], ['verify'], ['repair'], ['snapshot', `${folder}.copy`], ['view'], ['bench']
  ]) {
    const { code, stderr } = await callCommand([name, folder, ...others])
    t.equal(code, 2, name)
    t.match(stderr, /^millrace: \S+ is a folder without a log; [^\n]+\n$/)
  }
  t.deepEqual(fs.readdirSync(folder), [])
  t.deepEqual(fs.readdirSync(path.dirname(folder)), ['empty'])
})

tape('folders: one with a log of one file is not called a folder without a log', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'events.log')
  await callCommand(['append', file, '{"n":1}'])
  for (const [name, ...others] of [['cat'], ['info'], ['view'], ['verify'], ['repair'], ['append', '{}']]) {
    const { code, stderr } = await callCommand([name, folder, ...others])
    t.equal(code, 2, name)
    t.ok(stderr.endsWith(`is a folder, but not of segments; give the path of a file in it, such as ${file}\n`), stderr)
  }
})

tape('messages: what a text file cannot do, and records that do not decode, have advice of the command line', async (t) => {
  const file = path.join(temporaryFolder(), 'a.jsonl')
  fs.writeFileSync(file, '{"n":1}\nhello\n')
  t.match((await callCommand(['cat', file])).stderr, /record at 8: .*; millrace cat --raw prints its bytes, millrace cat --skip-damage leaves it out\n/)
  t.match((await callCommand(['del', file, '0'])).stderr, /copy those to keep into another file with millrace snapshot --where\n/)
  t.match((await callCommand(['compact', file])).stderr, /; millrace convert makes a log that does\n/)
  t.match((await callCommand(['index', file, '--path', 'n'])).stdout, / \d+,\d{3}% of the log\n/, 'no exponent')
  t.match((await callCommand(['append', file, '{n}'])).stderr, /append it and the values after it\n/)
  t.match((await callCommand(['count', file, '--where', 'n[*]=1'])).stderr, /'n\[\*\]', which --where asks for; what an array includes is asked for by ~=\n/)
  t.deepEqual([await callCommand(['bench', file, '--runs', '0'])].map(({ code, stdout }) => [code, stdout]), [[2, '']])
})

tape('messages: the command says --skip-damage, and one range is a range', async (t) => {
  const { folder, log } = await makeSegments({})
  const segments = await log.segments()
  await log.close()
  fs.rmSync(segments[1].path)
  for (const words of [['cat', folder], ['verify', folder], ['info', folder]]) {
    const { code, stdout, stderr } = await callCommand(words)
    t.equal(code, 1, words[0])
    t.match(stdout + stderr, /--skip-damage/)
    t.doesNotMatch(stdout + stderr, /onCorrupt/)
  }
  const { stderr } = await callCommand(['cat', folder, '--skip-damage'])
  t.match(stderr, /^millrace: left out 1 damaged range of /)
})

tape('folders: segments that are text files of JSON are read by the commands', async (t) => {
  const folder = newPath('lines')
  const log = SegmentedLog(folder, { framing: 'lines', codec: jsonCodec })
  await log.append([{ n: 1 }, { n: 2 }])
  await log.roll()
  await log.append({ n: 3 })
  await log.close()
  const info = JSON.parse((await callCommand(['info', folder, '--json'])).stdout)
  t.deepEqual([info.framing, info.segments, info.readAs, info.broken], ['lines', 2, 'json', []])
  t.equal((await callCommand(['count', folder])).stdout, '3\n')
  t.equal((await callCommand(['tail', '-n', '2', folder])).stdout, '{"n":2}\n{"n":3}\n')
  t.equal((await callCommand(['cat', folder, '--where', 'n>2'])).stdout, '{"n":3}\n')
})

tape('snapshot: with filters, the records that pass, of a file and of a folder, in each framing', async (t) => {
  const text = newPath('app.jsonl')
  fs.writeFileSync(text, '{"user":"ada","n":1}\n{"user":"bob","n":2}\n{"user":"ada","level":50}\n')
  const kept = newPath('kept.jsonl')
  const { code, stderr } = await callCommand(['snapshot', text, kept, '--where', 'user=ada', '--level', 'error'])
  t.equal(code, 0, stderr)
  t.equal(fs.readFileSync(kept, 'utf8'), '{"user":"ada","level":50}\n')
  t.match(stderr, /^millrace: left out 1 record without a level/)
  const unknown = await callCommand(['snapshot', text, newPath('copy'), '--where', 'usr=ada'])
  t.match(unknown.stderr, /no record that was read has a field 'usr'/)
  for (const options of [{}, { compress: 'gzip' }, { framing: 'lines', segmentSize: 4096 }, { framing: 'lines', segmentSize: 4096, compress: 'gzip' }]) {
    const { folder, log } = await makeSegments(options)
    await log.close()
    const copy = newPath('copy')
    t.equal((await callCommand(['snapshot', folder, copy, '--where', 'n<7', '--where', 'n!=2'])).code, 0)
    t.equal((await callCommand(['cat', copy])).stdout, [0, 1, 3, 4, 5, 6].map((n) => `{"n":${n}}\n`).join(''))
    const restored = SegmentedLog(copy, { codec: jsonCodec })
    const seq = await restored.append({ n: 8 })
    await restored.close()
    t.equal((await callCommand(['get', copy, String(seq)])).stdout, '{"n":8}\n')
  }
})

tape('verify, info, snapshot: a compressed segment of text that begins with no object is whole: it was reported as damaged', async (t) => {
  const folder = newPath('text')
  const log = SegmentedLog(folder, { codec: jsonCodec, framing: 'lines', compress: 'gzip' })
  await log.append(Array.from({ length: 300 }, (_, n) => ['an array', n]))
  await log.roll()
  await until(async () => (await log.segments())[0].compressed === 'gzip')
  await log.append('a string')
  await log.close()
  const verified = await callCommand(['verify', folder])
  t.equal(verified.code, 0, verified.stdout)
  const { code, stdout } = await callCommand(['info', folder])
  t.equal(code, 0, stdout)
  t.notOk(stdout.includes('damage'))
  const [name] = fs.readdirSync(folder).filter((name) => name.endsWith('.gz'))
  t.equal((await callCommand(['count', path.join(folder, name)])).stdout, '300\n')
  const copy = newPath('copy')
  t.equal((await callCommand(['snapshot', folder, copy])).code, 0)
  t.equal((await callCommand(['count', copy])).stdout, '301\n')
})

tape('folders: one of millrace serve, which has a folder for each log, is told with their paths, and not waited for', async (t) => {
  const folder = temporaryFolder()
  for (const name of ['log-app', 'log-orders']) {
    const log = SegmentedLog(path.join(folder, name), { codec: jsonCodec })
    await log.append({ n: 1 })
    await log.close()
  }
  fs.mkdirSync(path.join(folder, 'empty'))
  const logs = ['log-app', 'log-orders'].map((name) => path.join(folder, name))
  for (const [name, ...others] of [
    ['info'], ['cat'], ['tail'], ['tail', '-f'], ['get', '1'], ['count'], ['append', '{}'], ['export', `${folder}.out`], ['convert', `${folder}.new`],
    ['del', '1'], ['compact'], ['index'], ['verify'], ['repair'], ['snapshot', `${folder}.copy`], ['view'], ['bench']
  ]) {
    const { code, stderr } = await callCommand([name, folder, ...others])
    t.deepEqual([code, stderr], [2, `millrace: ${folder} is a folder of logs; give the path of one: ${logs.join(', ')}\n`], name)
  }
})
