'use strict'
// What import and append read: not the log that they append to, and no file that is no text.

const fs = require('node:fs')
const { gzipSync } = require('node:zlib')
const tape = require('tape')
const { newPath } = require('@millrace/testkit')
const { callCommand, runCommand } = require('./run-command')

const LINES = '{"n":1}\n{"n":2}\n'.repeat(100)

tape('import, append: a log that is its own source is refused: it read what it had appended, until the disk was full', async (t) => {
  const file = newPath('own.jsonl')
  const link = `${file}-link`
  fs.writeFileSync(file, LINES)
  fs.symlinkSync(file, link)
  for (const [words, name] of [[['import', file, file], file], [['import', file, link], link], [['import', link, file], file]]) {
    const { code, stderr } = await callCommand(words)
    t.deepEqual([code, stderr], [2, `millrace: ${name} is the log itself, ${words[1]}; give another file\n`])
  }
  for (const words of [['import', file], ['import', file, '-'], ['append', file]]) {
    const fd = fs.openSync(file)
    const { code, stderr } = await runCommand(words, { stdin: fd })
    fs.closeSync(fd)
    t.deepEqual([code, stderr], [2, `millrace: standard input is the log itself, ${file}; give another file\n`])
  }
  t.equal(fs.readFileSync(file, 'utf8'), LINES)
  fs.copyFileSync(file, `${file}.copy`)
  t.equal((await callCommand(['import', file, `${file}.copy`])).code, 0, 'a copy is another file')
  t.equal(fs.readFileSync(file, 'utf8'), LINES + LINES)
})

tape('import: a file that is no text is called what it is, with what makes lines of it: its bytes were called no UTF-8', async (t) => {
  const log = newPath('new.log')
  const file = newPath('source')
  const utf16 = Buffer.from(`\ufeff${LINES}`, 'utf16le')
  const checked = newPath('checked.log')
  t.equal((await callCommand(['import', checked], { input: LINES })).code, 0)
  for (const [bytes, what, command] of [
    [gzipSync(LINES), 'compressed with gzip', 'gunzip -c'],
    [[0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x00], 'compressed with zstd', 'zstd -dc'],
    [Buffer.from('BZh91AY&SY'), 'compressed with bzip2', 'bunzip2 -c'],
    [[0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], 'compressed with xz', 'xz -dc'],
    [utf16, 'a text in UTF-16', 'iconv -f UTF-16 -t UTF-8'],
    [Buffer.from(utf16).swap16(), 'a text in UTF-16', 'iconv -f UTF-16 -t UTF-8'],
    [fs.readFileSync(checked), 'a log', 'millrace cat']
  ]) {
    fs.writeFileSync(file, Buffer.from(bytes))
    const { code, stderr } = await callCommand(['import', log, file])
    t.equal(stderr, `millrace: ${file} is ${what}, and lines of JSON are needed; pass them on: ${command} FILE | millrace import ${log}\n`)
    t.equal(code, 2)
    if (what === 'a log') continue
    const read = await callCommand(['cat', file])
    t.match(read.stderr, new RegExp(`is ${what}; if a log is in it: ${command} FILE \\| millrace cat -`))
  }
  t.notOk(fs.existsSync(log), 'nothing was made')
})

tape('import: a folder is called one, with its path', async (t) => {
  const log = newPath('new.log')
  const { code, stderr } = await callCommand(['import', log, '.'])
  t.deepEqual([code, stderr], [2, 'millrace: . is a folder; give a file of JSON, one record a line. If it has a log, pass on what ' +
    'millrace cat prints\n'])
  t.notOk(fs.existsSync(log), 'nothing was made')
})
