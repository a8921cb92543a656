'use strict'
// `millrace index`, the commands that use what it has made, and --explain.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { createIndex } = require('@millrace/index')
const { jsonCodec } = require('@millrace/json-codec')
const { SlotLog } = require('@millrace/merged-log')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath } = require('@millrace/testkit')
const { open } = require('..')
const { compareWithScan } = require('../lib/cli/index-check')
const { formatIndexPath, parseIndexPath } = require('../lib/cli/index-paths')
const { CommandIndex } = require('../lib/cli/log-index')
const { identify } = require('../lib/cli/source')
const { makeLog } = require('./make-log')
const { callCommand, runCommand } = require('./run-command')

const VALUES = Array.from({ length: 3000 }, (_, n) => ({
  n, type: n % 3 === 0 ? 'post' : 'vote', user: `u${n % 97}`, tags: [`t${n % 40}`, `t${n % 41}`], price: n % 200, links: [{ to: `@${n}` }]
}))
const PATHS = ['--path', 'user', '--path', 'tags[*]', '--path', 'links[*].to', '--range', 'price']

async function makeIndexed (options) {
  const file = await makeLog(VALUES, options)
  const made = await callCommand(['index', file, ...PATHS])
  return { file, made }
}

/** The fields that a command prints, by their names. */
function fieldsOf ({ stdout }) {
  return Object.fromEntries(stdout.trimEnd().split('\n').map((line) => [line.slice(0, 14).trim(), line.slice(14).trim()]))
}

for (const codec of ['json', 'binary']) {
  tape(`index: made, listed, used, verified and removed; records of ${codec}`, async (t) => {
    const { file, made } = await makeIndexed({ codec })
    t.equal(made.code, 0, made.stderr)
    t.match(made.stdout, /^3,000 records indexed by user, tags\[\*\], links\[\*\]\.to, price \(with ranges\)\n\S+\.index: [^\n]+% of the log\n$/)
    const listed = await callCommand(['index', file])
    t.equal(listed.code, 0)
    t.equal(fieldsOf(listed)['not in it'], 'nothing')
    t.match(listed.stdout, /^run +seqs from 0 to below \d+: 3,000 records, [^;]+$/m)
    for (const [where, count] of [['user=u5', 31], ['tags~=t7', 146], ['price>=198', 30]]) {
      t.equal((await callCommand(['count', file, '--where', where])).stdout, `${count}\n`, where)
      const { uses, scans } = fieldsOf(await callCommand(['count', file, '--where', where, '--explain']))
      t.ok(uses.length > 0 && uses !== 'none of its paths', `${where} uses ${uses}`)
      if (where !== 'tags~=t7') t.equal(scans, 'nothing')
    }
    const verified = await callCommand(['index', file, '--verify', '--all'])
    t.equal(verified.code, 0, verified.stderr)
    t.match(verified.stdout, /: right; 3,3\d\d keys compared with a scan\n$/)
    t.equal((await callCommand(['index', file, '--verify'])).code, 0)
    t.match((await callCommand(['index', file, '--drop'])).stdout, /^1 run removed\n$/)
    t.notOk(fs.existsSync(`${file}.index`))
    t.match((await callCommand(['index', file])).stdout, /^there is no index beside \S+; --path makes one\n$/)
    t.match((await callCommand(['index', file, '--drop'])).stdout, /^there was no index/)
  })
}

for (const framing of ['checked', 'lines']) {
  tape(`index: of a folder of segments, ${framing}`, async (t) => {
    const folder = newPath('events')
    const log = SegmentedLog(folder, { codec: jsonCodec, framing, segmentSize: 50_000 })
    for (let n = 0; n < VALUES.length; n += 100) await log.append(VALUES.slice(n, n + 100))
    await log.close()
    const none = await callCommand(['count', folder, '--where', 'user=u5', '--explain'])
    t.ok(none.stdout.includes(`millrace index ${folder} --path user makes one`), none.stdout)
    const made = await callCommand(['index', folder, ...PATHS])
    t.match(made.stdout, /^3,000 records indexed by user, [^]*\/index: /, made.stderr)
    const listed = await callCommand(['index', folder])
    t.deepEqual([listed.code, fieldsOf(listed)['not in it']], [0, 'nothing'])
    t.equal((await callCommand(['count', folder, '--where', 'user=u5'])).stdout, '31\n')
    const { index, uses, scans } = fieldsOf(await callCommand(['count', folder, '--where', 'user=u5', '--explain']))
    t.ok(index.startsWith(path.join(folder, 'index')), index)
    t.deepEqual([uses, scans], ['user', 'nothing'])
    t.equal((await callCommand(['index', folder, '--verify', '--all'])).code, 0)
    const writer = SegmentedLog(folder, { codec: jsonCodec, segmentSize: 50_000 })
    await writer.append([{ user: 'u5' }, { user: 'u6' }])
    await writer.close()
    t.equal((await callCommand(['count', folder, '--where', 'user=u5'])).stdout, '32\n')
    t.equal((await callCommand(['index', folder, ...PATHS])).code, 0)
    t.equal((await callCommand(['index', folder, '--verify'])).code, 0)
    t.equal((await callCommand(['verify', folder])).code, 0)
    t.match((await callCommand(['index', folder, '--drop'])).stdout, /runs? removed\n$/)
    t.equal((await callCommand(['count', folder, '--where', 'user=u5'])).stdout, '32\n')
    t.match((await callCommand(['index', folder, '--verify'])).stderr, /there is no index beside/)
  })
}

tape('index: of a log that is reached through a symlink, it lies beside the log', async (t) => {
  const file = await makeLog(VALUES)
  const link = newPath('link.log')
  fs.symlinkSync(file, link)
  t.equal((await callCommand(['index', link, ...PATHS])).code, 0)
  t.notOk(fs.existsSync(`${link}.index`))
  t.ok(fs.existsSync(`${file}.index`))
  for (const path of [file, link]) {
    t.equal(fieldsOf(await callCommand(['count', path, '--where', 'user=u5', '--explain'])).scans, 'nothing')
    t.match((await callCommand(['index', path])).stdout, /^run +seqs/m)
  }
  t.equal((await callCommand(['index', link, '--drop'])).code, 0)
  t.notOk(fs.existsSync(`${file}.index`))
})

tape('index: --list of a log with deleted records', async (t) => {
  const file = await makeLog(VALUES)
  const log = OffsetLog(file, { codec: jsonCodec })
  const seqs = []
  await log.scan({ limit: 20 }, (run) => { seqs.push(...run.seqs.subarray(0, run.count)) })
  await log.del(seqs)
  await log.close()
  t.equal((await callCommand(['index', file, ...PATHS])).code, 0)
  const { code, stdout, stderr } = await callCommand(['index', file, '--list'])
  t.equal(code, 0, stderr)
  t.match(stdout, /2,980 records/)
})

tape('index: of slots, it is found by cat, tail and count', async (t) => {
  const folder = newPath('slots')
  const index = createIndex(['user'], { tuning: { recordsMax: 50, waitMs: 1 } })
  const slots = [0, 1].map(() => SlotLog(folder, { codec: jsonCodec, index }))
  for (const slot of slots) {
    await slot.ready()
    for (let n = 0; n < 300; n++) slot.append({ user: `u${n % 100}`, time: n })
    await slot.sync()
    await slot.index.ready()
  }
  const count = ['count', folder, '--where', 'user=u5']
  const check = async (name, uses) => {
    t.equal((await callCommand(count)).stdout, '6\n', name)
    const shown = fieldsOf(await callCommand([...count, '--explain']))
    t.equal(shown.uses, uses, name)
    t.match(shown.scans, /^(nothing|all records|(\d+ )?records of the slots)$/, name)
    if (uses !== undefined) t.ok(shown.index.startsWith(path.join(folder, '*', 'index')), shown.index)
    for (const name of ['cat', 'tail']) {
      const { stdout } = await callCommand([name, folder, '--where', 'user=u5'])
      t.equal(stdout.trimEnd().split('\n').length, 6, name)
    }
  }
  await check('written', 'user')
  for (const slot of slots) await slot.close()
  await check('closed', 'user')
  fs.rmSync(path.join(folder, '0', 'index'), { recursive: true })
  await check('of one slot alone', 'user')
  fs.rmSync(path.join(folder, '1', 'index'), { recursive: true })
  await check('none')
})

tape('index: of a text file, which other programs may change', async (t) => {
  const file = newPath('events.jsonl')
  fs.writeFileSync(file, VALUES.map((value) => `${JSON.stringify(value)}\n`).join(''))
  const count = async () => (await callCommand(['count', file, '--where', 'user=u5'])).stdout
  t.equal(await count(), '31\n')
  const made = await callCommand(['index', file, ...PATHS])
  t.match(made.stdout, /^3,000 records indexed by user, /, made.stderr)
  t.equal(fieldsOf(await callCommand(['count', file, '--where', 'user=u5', '--explain'])).uses, 'user')
  t.equal(await count(), '31\n')
  t.equal((await callCommand(['index', file, '--verify', '--all'])).code, 0)
  fs.appendFileSync(file, '{"user":"u5"}\n')
  t.equal(await count(), '32\n', 'another program appended')
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replaceAll('"user":"u5"', '"user":"x5"'))
  t.equal(await count(), '0\n', 'another program rewrote it')
  t.equal((await callCommand(['index', file, ...PATHS])).code, 0)
  t.equal((await callCommand(['count', file, '--where', 'user=x5'])).stdout, '32\n')
  t.equal((await callCommand(['index', file, '--verify', '--all'])).code, 0)
  await callCommand(['index', file, '--drop'])
  t.equal((await callCommand(['count', file, '--where', 'user=x5'])).stdout, '32\n')
})

tape('index: a run that cannot be read costs no read of the log; --list says so', async (t) => {
  const { file } = await makeIndexed()
  const name = '0000000000000000-0000000000000009-9f4d89dcb3ed.run'
  fs.mkdirSync(path.join(`${file}.index`, name))
  const counted = await callCommand(['count', file, '--where', 'user=u5'])
  t.deepEqual([counted.stdout, counted.stderr], ['31\n', ''])
  t.equal(fieldsOf(await callCommand(['count', file, '--where', 'user=u5', '--explain'])).uses, 'user', 'the others are used')
  const listed = await callCommand(['index', file, '--list'])
  t.equal(listed.code, 1)
  t.match(listed.stdout, new RegExp(`run +${name}: not used: it cannot be read: .*directory`))
  t.equal((await callCommand(['index', file, '--verify'])).code, 0)
  fs.rmSync(`${file}.index`, { recursive: true })
  fs.writeFileSync(`${file}.index`, '')
  t.equal((await callCommand(['count', file, '--where', 'user=u5'])).stdout, '31\n', 'a file is where the folder should be')
  t.end()
})

tape('index: what was appended since is found by cat, tail and count; the same command brings it up to date', async (t) => {
  const { file } = await makeIndexed()
  await callCommand(['append', file, '{"user":"u5","type":"new"}', '{"user":"u6","type":"new"}'])
  for (const words of [['cat', file], ['tail', file], ['export', file, '-']]) {
    const { stdout } = await callCommand([...words, '--where', 'user=u5 and type=new'])
    t.equal(stdout, '{"user":"u5","type":"new"}\n', words[0])
  }
  t.equal((await callCommand(['count', file, '--where', 'user=u5'])).stdout, '32\n')
  const { scans, because } = fieldsOf(await callCommand(['count', file, '--where', 'user=u5', '--explain']))
  t.match(scans, /^records from the seq \d+ on$/)
  t.equal(because, 'the index has not read these records yet')
  t.match(fieldsOf(await callCommand(['index', file]))['not in it'], /^what was appended from the seq \d+ on; each read scans it$/)
  t.match((await callCommand(['index', file, ...PATHS])).stdout, /^3,002 records/)
  t.equal(fieldsOf(await callCommand(['count', file, '--where', 'user=u5', '--explain'])).scans, 'nothing')
  const { records, runs, paths } = JSON.parse((await callCommand(['index', file, '--list', '--json'])).stdout)
  t.deepEqual([records, runs.length, paths], [3002, 2, ['user', 'tags[*]', 'links[*].to', 'price (with ranges)']])
  t.match((await callCommand(['index', file, '--path', 'type'])).stdout, /^3,002 records indexed by type\n/, 'other paths replace it')
  t.deepEqual(JSON.parse((await callCommand(['index', file, '--json'])).stdout).paths, ['type'])
})

tape('index: a program that opens the log with the same paths uses the runs of the command', async (t) => {
  const { file } = await makeIndexed()
  const index = ['user', { path: 'tags', each: true }, { path: 'links', each: 'to' }, { path: 'price', range: true }]
  const log = open(file, { index })
  await log.index.ready()
  t.equal((await log.index.status()).records, 3000)
  t.equal((await log.index.status()).tail, 0)
  const held = await callCommand(['index', file, '--path', 'type'])
  t.equal(held.code, 1)
  t.match(held.stderr, /^millrace: .*open for writing/)
  t.match((await callCommand(['index', file, '--drop'])).stderr, /writes the log: if it uses the index, it may make it again/)
  t.equal(await log.count({ where: { path: 'user', equals: 'u5' } }), 31)
  await log.close()
})

tape('index: a run that is damaged, or of a log that was replaced, is not used; --list says why', async (t) => {
  const { file } = await makeIndexed()
  const other = await makeLog(VALUES.map((value) => ({ ...value, user: 'ada' })))
  const bytes = fs.readFileSync(file)
  fs.copyFileSync(other, file)
  const listed = await callCommand(['index', file])
  t.equal(listed.code, 1)
  t.match(listed.stdout, /not used: it is of another log/)
  t.equal((await callCommand(['count', file, '--where', 'user=ada'])).stdout, '3000\n')
  t.match((await callCommand(['index', file, '--verify'])).stdout, /^no run is used, so all of this was scanned; --list says why\n.*right/)
  fs.writeFileSync(file, bytes)
  t.equal((await callCommand(['index', file])).code, 0)
  const [name] = fs.readdirSync(`${file}.index`)
  fs.truncateSync(path.join(`${file}.index`, name), 5000)
  const damaged = await callCommand(['index', file])
  t.equal(damaged.code, 1)
  t.match(damaged.stderr, /no file in it can be read. Answers are right all the same, by scans; remove it with --drop/)
  t.equal((await callCommand(['count', file, '--where', 'user=u5'])).stdout, '31\n')
  t.equal((await callCommand(['index', file, '--drop'])).code, 0)
})

tape('index: a path that no record has is told', async (t) => {
  const { file, made } = await makeIndexed()
  t.equal(made.stderr, '')
  const { code, stderr } = await callCommand(['index', file, '--path', 'usr', '--path', 'tags', '--range', 'cost', '--range', 'n'])
  t.equal(code, 0)
  t.deepEqual(stderr.match(/(?<=boolean at )[^:]+/g), ['usr', 'tags', 'cost'])
  const listed = JSON.parse((await callCommand(['index', file, '--path', 'usr', '--path', 'user', '--json'])).stdout)
  t.deepEqual(listed.empty, ['usr'])
})

tape('index --verify: an index that leaves records out is told, with the first one', async (t) => {
  const { file } = await makeIndexed()
  const identity = await identify(file)
  const paths = [{ path: ['user'] }]
  const index = new CommandIndex(`${file}.index`, paths, 'json')
  const right = index.open.bind(index)
  const none = () => ({ next: () => ({ done: true, value: undefined }) })
  index.open = (host) => Object.assign(right(host), { parts: none })
  const progress = () => ({ update () {}, end () {} })
  const shell = { signal: new AbortController().signal, progress, throwIfAborted () {} }
  const { differences, keys } = await compareWithScan(shell, identity, { index, codec: 'json', paths, isAll: true })
  t.equal(keys, 97)
  t.equal(differences.length, 97)
  t.deepEqual([differences[0].where, differences[0].found, differences[0].expected], [{ path: ['user'], equals: 'u0' }, 0, 31])
  t.equal(differences[0].seq, 32808)
})

tape('explain: instead of the records; without an index it says how to make one', async (t) => {
  const file = await makeLog(VALUES)
  for (const name of ['cat', 'tail', 'count']) {
    const { stdout, code } = await callCommand([name, file, '--where', 'user=u5', '--explain'])
    t.equal(code, 0)
    t.match(stdout, /^index +none\nscans +all records\nbecause +there is no index; millrace index \S+ --path user .*\n$/, name)
  }
  for (const [where, words] of [['links.0.to="@7"', '--path links.0.to makes one of the field links.0.to'], ['tags~=t7', "--path 'tags[*]' "],
    ['price>10', '--range price '], ['type^=p and n=3', '--path n '], ['type^=po', '--path user ']]) {
    const { because } = fieldsOf(await callCommand(['count', file, '--where', where, '--explain']))
    t.ok(because.includes(`millrace index ${file} ${words}`), `${where}: ${because}`)
  }
  t.equal(fieldsOf(await callCommand(['cat', file, '--explain'])).because, 'there is no filter')
  await callCommand(['index', file, '--path', 'user'])
  const unused = fieldsOf(await callCommand(['cat', file, '--where', 'type=post', '--explain']))
  t.equal(unused.uses, 'none of its paths')
  t.match(unused.because, /it asks for type; declared are user$/)
  const searched = await callCommand(['cat', file, '-w', 'user=u5', '-g', 'x"y', '--explain'])
  t.match(searched.stdout, /\nThe text of each of these is searched for "x\\"y"\.\n$/)
  const { uses, candidates } = JSON.parse((await callCommand(['count', file, '-w', 'user=u5', '--explain', '--json'])).stdout)
  t.deepEqual([uses, candidates], [['user'], 31])
  const piped = await runCommand(['cat', '-', '--where', 'user=u5', '--explain'], { input: fs.readFileSync(file) })
  t.match(piped.stdout, /^index +none\n/)
})

tape('index: wrong paths and options are told', async (t) => {
  const file = await makeLog(VALUES.slice(0, 3))
  const offsets = newPath('offsets.log')
  await OffsetLog(offsets, { framing: 'offset32', codec: jsonCodec }).append({ a: 1 })
  const bytes = await makeLog([Buffer.from('a')], { codec: 'bytes' })
  for (const [words, message] of [
    [[file, '--path', 'a,b'], /has a comma. Give each path by itself/],
    [[file, '--path', 'user=ada'], /user=ada is not a path. Expected keys with dots/],
    [[file, '--path', ''], /An empty text is not a path/],
    [[file, '--path', 'tags[0]'], /tags\[0\] is not a path/],
    [[file, '--path', 'a', '--range', 'a'], /^millrace: the path a is declared twice/],
    [[file, '--path', 'a', '--drop'], /not several of them/],
    [[file, '--all'], /--all needs --verify/],
    [[file, '--verify'], /there is no index beside/],
    [[`${file}.missing`, '--path', 'a'], /there is no such file; check the path/],
    [[`${file}.missing`, '--drop'], /there is no such file; check the path/],
    [['-', '--path', 'a'], /standard input/],
    [[offsets, '--path', 'a'], /a log of offset32, beside which no index is kept; millrace convert/],
    [[bytes, '--path', 'a'], /records of bytes, which have no fields/]
  ]) {
    const { code, stderr, stdout } = await callCommand(['index', ...words])
    t.equal(code, 2, words.slice(1).join(' '))
    t.match(stderr, message)
    t.equal(stdout, '')
  }
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['events.log'], 'nothing is left')
})

tape('index: paths are read as they are written', (t) => {
  const paths = {
    'user.id': { path: ['user', 'id'] },
    'a.0.b': { path: ['a', 0, 'b'] },
    '"a.b".c': { path: ['a.b', 'c'] },
    '"0"': { path: ['0'] },
    'tags[*]': { path: ['tags'], each: true },
    'links[*].to.name': { path: ['links'], each: ['to', 'name'] },
    '[*]': { path: [], each: true },
    '"x[*]"': { path: ['x[*]'] }
  }
  for (const [text, options] of Object.entries(paths)) {
    t.deepEqual(parseIndexPath(text), options, text)
    t.equal(formatIndexPath(options), text)
  }
  t.end()
})
