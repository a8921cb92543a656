'use strict'
// The commands that write.

const fs = require('node:fs')
const path = require('node:path')
const { Readable } = require('node:stream')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { convert } = require('@millrace/migrate')
const { collect, failureOf, temporaryFolder } = require('@millrace/testkit')
const { open } = require('..')
const { toJson, fromJson } = require('../lib/cli/json')
const { readLines } = require('../lib/cli/lines')
const { SSB, holdLog } = require('./kinds-of-files')
const { callCommand, runCommand } = require('./run-command')

function newPath (name = 'events.log') {
  return path.join(temporaryFolder(), name)
}

function makeLines (count) {
  return Array.from({ length: count }, (_, n) => JSON.stringify({ n, text: 'x'.repeat(500) })).join('\n')
}

async function cat (file, ...words) {
  return (await callCommand(['cat', file, ...words])).stdout
}

tape('repair --accept: a change with an editor is told until it is accepted', async (t) => {
  const file = newPath('events.jsonl')
  await callCommand(['append', file, '{"a":1}', '{"a":2}'])
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('1', '11'))
  const verified = await callCommand(['verify', file])
  t.equal(verified.code, 1)
  t.match(verified.stdout, /another program has changed the file.*\n.*changed; lines, 17 bytes, 2 records/)
  t.match((await callCommand(['info', file])).stdout, /changed +another program/)
  t.equal(await cat(file), '{"a":11}\n{"a":2}\n')
  t.match((await callCommand(['repair', file])).stderr, /no record can keep its seq.*millrace repair --accept/)
  t.match((await callCommand(['repair', file, '--accept', '--write'])).stderr, /neither a target nor --write/)
  t.match((await callCommand(['repair', file, '--accept'])).stdout, /its text is accepted; 17 bytes/)
  t.match((await callCommand(['repair', file, '--accept'])).stdout, /nothing had changed/)
  t.equal((await callCommand(['verify', file])).code, 0)
  const checked = newPath()
  await callCommand(['append', checked, '{"a":1}'])
  t.match((await callCommand(['repair', checked, '--accept'])).stderr, /no log of lines/)
})

tape('append: what is given, and lines as they come; --seqs prints where they are', async (t) => {
  const file = newPath()
  const { stdout } = await callCommand(['append', file, '{"a":1}', '[1,2]', '--seqs', '--fsync', 'always'])
  const [first] = stdout.trim().split('\n')
  t.equal(await cat(file), '{"a":1}\n[1,2]\n')
  t.equal((await callCommand(['get', file, first])).stdout, '{"a":1}\n')
  // The answer to a line comes before the next line is written.
  const answers = await runCommand(['append', file, '--seqs'], {
    input: null,
    onSpawn: (child) => {
      child.stdin.write('{"n":1}\n')
      child.stdout.once('data', () => child.stdin.end('{"n":2}'))
    }
  })
  t.equal(answers.stdout.trim().split('\n').length, 2)
  t.equal(await cat(file), '{"a":1}\n[1,2]\n{"n":1}\n{"n":2}\n')
})

tape('import and export: each is the other backwards, byte for byte', async (t) => {
  const lines = ['{"big":12345678901234567890,"a":1.10}', '"text"', 'null', '[]', '{"a":{"b":"\\u001b"}}', '{"ü":"€ 😀"}']
  const text = `${lines.join('\n')}\n`
  const file = newPath()
  const { code, stdout } = await callCommand(['import', file, '--json'], { input: `\n${lines.join('\r\n\n')}` })
  t.equal(code, 0)
  t.equal(JSON.parse(stdout).records, lines.length)
  const out = path.join(path.dirname(file), 'out.ndjson')
  t.equal((await callCommand(['export', file, out])).code, 0)
  t.equal(fs.readFileSync(out, 'utf8'), text)
  const again = await callCommand(['export', file, out])
  t.equal(again.code, 2)
  t.match(again.stderr, /something is there already/)
  t.equal((await callCommand(['export', file, out, '--force', '--limit', '1'])).code, 0)
  t.equal(fs.readFileSync(out, 'utf8'), `${lines[0]}\n`)
})

tape('import: a line that is no record stops it, and the message says where to go on', async (t) => {
  const file = newPath()
  const { code, stderr } = await callCommand(['import', file], { input: '{"n":1}\n\n{"n":\n{"n":3}\n' })
  t.equal(code, 1)
  t.match(stderr, /^millrace: line 3 of standard input is no record: .*tail -n \+3\n$/)
  t.equal(await cat(file), '{"n":1}\n')
  const missing = await callCommand(['import', newPath(), path.join(temporaryFolder(), 'none.ndjson')])
  t.equal(missing.code, 2)
})

tape('import: a large file comes in whole, and a log that is written elsewhere is left alone', async (t) => {
  const file = newPath()
  const lines = Array.from({ length: 12_345 }, (_, n) => JSON.stringify({ n, text: 'x'.repeat(n % 700) }))
  const source = path.join(path.dirname(file), 'in.ndjson')
  fs.writeFileSync(source, lines.join('\n'))
  t.equal((await callCommand(['import', file, source])).code, 0)
  t.equal(await cat(file), `${lines.join('\n')}\n`)
  const release = await holdLog(file)
  const locked = await callCommand(['import', file, source])
  t.equal(locked.code, 1)
  t.match(locked.stderr, /open for writing|holder|process/i)
  await release()
  t.equal((await callCommand(['count', file])).stdout, '12346\n')
})

tape('import: lines end, and what has no line breaks does not fill the memory', async (t) => {
  const read = async (chunks, sizeMax) => {
    const found = []
    const input = Readable.from(chunks.map(Buffer.from))
    for await (const lines of readLines(input, undefined, sizeMax)) found.push(...lines)
    return found
  }
  t.deepEqual(await read(['12345', '67\n', '\n1'], 7), [{ number: 1, text: '1234567' }, { number: 3, text: '1' }])
  const err = await failureOf(() => read(['1\n', '12345', '678', '9'], 7))
  t.equal(err.code, 'ERR_RECORD_TOO_LARGE')
  t.match(err.message, /^line 2 has more than 7 bytes/)
})

tape('json: values that JSON has no word for come back', (t) => {
  const values = [1n, -5, 'text', null, Buffer.from([0, 255]), new Date(0), undefined, NaN, Infinity, [1n, [Buffer.from('a')]],
    { a: { b: undefined, c: -Infinity }, d: [new Date(5)] }, JSON.parse('{"__proto__":{"a":1}}')]
  for (const value of values) t.deepEqual(fromJson(JSON.parse(toJson(value))), value, toJson(value))
  t.end()
})

tape('binary logs: bytes and big integers, in and out', async (t) => {
  const file = newPath()
  const text = '{"n":{"$bigint":"12345678901234567890"},"data":{"$bytes":"AP8="}}\n'
  t.equal((await callCommand(['import', file, '--codec', 'binary'], { input: text })).code, 0)
  t.equal(await cat(file), text)
  const log = open(file, { codec: 'binary', flags: 'r' })
  const value = { n: 12345678901234567890n, data: Buffer.from([0, 255]) }
  for await (const found of log.stream({ seqs: false })) t.deepEqual(found, value)
  await log.close()
  t.equal((await callCommand(['append', file, '{"more":true}'])).code, 0, 'a log keeps its codec')
  t.equal((await callCommand(['count', file, '--where', 'more=true'])).stdout, '1\n')
})

tape('del and compact: a record is erased, and its space given back', async (t) => {
  const file = newPath()
  await callCommand(['import', file], { input: makeLines(500) })
  const seqs = (await cat(file, '--seqs', '--limit', '400')).trim().split('\n').map((line) => String(JSON.parse(line).seq))
  t.equal((await callCommand(['del', file, ...seqs])).code, 0)
  t.equal((await callCommand(['get', file, seqs[3]])).code, 1)
  const { sizeBefore, size } = JSON.parse((await callCommand(['compact', file, '--json'])).stdout)
  t.ok(size < sizeBefore / 2, `${sizeBefore} to ${size}`)
  t.equal((await callCommand(['count', file])).stdout, '100\n')
})

tape('convert: a name that ends in .jsonl, or --to-framing, makes a text file of JSON; --map writes the seqs', async (t) => {
  const folder = temporaryFolder()
  const [checked, lines, back, map] = ['a.log', 'b.jsonl', 'c.log', 'map'].map((name) => path.join(folder, name))
  const log = open(checked, { codec: 'binary' })
  const seqs = await log.append([{ n: 1 }, { n: 2 }], { seqs: true })
  await log.close()
  const { stdout, code } = await callCommand(['convert', checked, lines, '--map', map])
  t.equal(code, 0)
  t.match(stdout, /2 records converted from checked \(binary\) to lines \(json\)/)
  t.equal(fs.readFileSync(lines, 'utf8'), '{"n":1}\n{"n":2}\n')
  t.equal(fs.readFileSync(map, 'utf8'), `${seqs[0]} 0\n${seqs[1]} 8\n`)
  const again = await callCommand(['convert', checked, `${lines}.2`, '--to-framing', 'lines', '--map', map])
  t.ok(again.code !== 0 && again.stderr.includes(`${map}: something is there already`), again.stderr)
  t.deepEqual(fs.readdirSync(folder).filter((name) => !/lock/.test(name)).sort(), ['a.log', 'b.jsonl', 'map'])
  t.match((await callCommand(['convert', lines, back])).stdout, /2 records converted from lines \(json\) to checked \(json\)/)
  const made = open(back)
  t.deepEqual(await collect(made.stream({ seqs: false })), [{ n: 1 }, { n: 2 }])
  await made.close()
})

tape('convert: --map has its name before the new log has; an interrupted run writes it again, and nothing else', async (t) => {
  const folder = temporaryFolder()
  const [from, to, map] = ['a.log', 'b.jsonl', 'map'].map((name) => path.join(folder, name))
  const log = open(from)
  const seqs = await log.append([{ n: 1 }, { n: 2 }], { seqs: true })
  await log.close()
  const interrupt = async () => { throw new Error('killed') }
  await convert(from, to, { framing: 'lines', fromCodec: jsonCodec, toCodec: jsonCodec, onVerified: interrupt }).catch(() => {})
  t.notOk(fs.existsSync(to))
  for (const [text, code] of [['mine', 2], ['1 2\n3 4\n5 6\n', 0]]) {
    fs.writeFileSync(map, text)
    const again = await callCommand(['convert', from, to, '--map', map])
    t.equal(again.code, code, again.stderr)
    t.equal(fs.readFileSync(map, 'utf8'), code === 0 ? `${seqs[0]} 0\n${seqs[1]} 8\n` : text)
  }
  t.deepEqual(fs.readdirSync(folder).filter((name) => !/lock/.test(name)).sort(), ['a.log', 'b.jsonl', 'map'])
  t.equal((await callCommand(['convert', from, `${to}.2`, '--to-framing', 'lines', '--map', map])).code, 2, 'the map of a whole log stays')
})

tape('convert: an old log becomes a checked one, in its codec or another', async (t) => {
  const file = newPath('new.log')
  const { stdout, code } = await callCommand(['convert', SSB, file, '--to-codec', 'binary'])
  t.equal(code, 0)
  t.match(stdout, /2,000 records converted from offset32 \(json\) to checked \(binary\)/)
  t.equal((await callCommand(['count', file, '--where', 'value.content.type=post'])).stdout, '530\n')
  const back = `${file}.back`
  t.equal((await callCommand(['convert', file, back, '--to-codec', 'json'])).code, 0)
  t.equal(await cat(back), await cat(SSB))
})

tape('snapshot and repair: a copy while it is written; what is good of a damaged log', async (t) => {
  const file = newPath()
  await callCommand(['import', file], { input: makeLines(500) })
  const release = await holdLog(file)
  const copy = `${file}.copy`
  t.equal((await callCommand(['snapshot', file, copy])).code, 0)
  await release()
  t.equal((await callCommand(['count', copy])).stdout, '501\n')
  t.equal((await callCommand(['snapshot', file, copy])).code, 2, 'never over another file')

  const bytes = fs.readFileSync(file)
  bytes[70_000] ^= 1
  fs.writeFileSync(file, bytes)
  const plan = await callCommand(['repair', file])
  t.equal(plan.code, 1)
  t.match(plan.stdout, /lost: bytes[\s\S]*can be saved[\s\S]*dry run/)
  t.notOk(fs.existsSync(`${file}.repaired`))
  t.equal((await callCommand(['repair', file, '--write'])).code, 0)
  t.equal((await callCommand(['verify', `${file}.repaired`])).code, 0)
  const { stdout, code } = await callCommand(['verify', file])
  t.equal(code, 1)
  t.match(stdout, /^bytes \d+ to \d+ \(.*\n.*damaged in 1 range/)
  const skipped = await callCommand(['count', file, '--skip-damage'])
  t.equal(skipped.code, 1)
  t.equal((await callCommand(['count', `${file}.repaired`])).stdout, skipped.stdout)
})

tape('append, import: what is refused leaves nothing behind', async (t) => {
  const folder = temporaryFolder()
  const bad = path.join(temporaryFolder(), 'bad.ndjson')
  fs.writeFileSync(bad, 'bad\n{"n":1}\n')
  const log = path.join(folder, 'new', 'events.log')
  for (const [words, input] of [
    [['append', log, 'bad']],
    [['append', log, '--seqs', 'bad', '{}']],
    [['append', log], 'bad\n{}\n'],
    [['append', log, '--codec', 'bytes', '1']],
    [['append', log, '--fsync', 'sometimes', '{}']],
    [['append', log, '--nothing', '{}']],
    [['import', log, bad]],
    [['import', log, `${bad}.gone`]]
  ]) {
    const { code } = await callCommand(words, { input })
    t.ok(code > 0, words.join(' '))
    t.deepEqual(fs.readdirSync(folder), [])
  }
  t.equal((await callCommand(['append', log])).code, 0)
  t.equal((await callCommand(['count', log])).stdout, '0\n', 'nothing makes an empty log')
})

tape('append --seqs: at a bad value, what comes before it is appended, and nothing behind it', async (t) => {
  const log = path.join(temporaryFolder(), 'events.log')
  const { code, stdout, stderr } = await callCommand(['append', '--seqs', log, '{"n":1}', '{"n":2}', 'bad', '{"n":3}'])
  t.equal(code, 1)
  t.match(stderr, /^millrace: value 3 is no record: .*; what comes before it was appended \(2\)/)
  t.equal(stdout.trim().split('\n').length, 2)
  t.equal((await callCommand(['cat', log])).stdout, '{"n":1}\n{"n":2}\n')
})
