'use strict'
// A file of one JSON array, which other programs export, is not a file of records, one a line.

const fs = require('node:fs')
const tape = require('tape')
const { newPath } = require('@millrace/testkit')
const { callCommand } = require('./run-command')

tape('import: a text that is one array of objects is refused with what makes lines of it, and no log is made', async (t) => {
  const [log, file] = [newPath('a.log'), newPath('array.json')]
  for (const text of ['[{"n":1},{"n":2},{"n":3}]', '\n [ {"n":1}, {"n":2},{"n":3} ] \n\n']) {
    fs.writeFileSync(file, text)
    for (const [name, words, input] of [[file, [file], ''], ['standard input', [], text], ['standard input', ['-'], text]]) {
      const { code, stderr } = await callCommand(['import', log, ...words], { input })
      t.equal(code, 2, stderr)
      t.equal(stderr, `millrace: ${name} is one array of 3 records, and would become one record; jq -c '.[]' makes lines of its items, ` +
        'and millrace append takes it as one record\n')
    }
  }
  t.notOk(fs.existsSync(log), 'nothing was made')
  t.equal((await callCommand(['append', log], { input: '[{"n":1},{"n":2}]\n' })).code, 0)
  t.equal((await callCommand(['count', log])).stdout, '1\n')
})

tape('import: lines that are arrays are records', async (t) => {
  for (const [text, count] of [['[1,2]\n', 1], ['[{"n":1}]\n[{"n":2}]\n', 2], ['[]', 1], ['[{"n":1},2]', 1], ['{"n":1}', 1], ['', 0],
    [`[{"n":1}]\n${'{"n":2}\n'.repeat(200_000)}`, 200_001]]) {
    const log = newPath('a.log')
    const { code, stderr } = await callCommand(['import', log], { input: text })
    t.deepEqual([code, stderr], [0, `imported ${count.toLocaleString('en-US')} record${count === 1 ? '' : 's'}\n`])
    t.equal((await callCommand(['count', log])).stdout, `${count}\n`)
  }
})

tape('import and append: a value of several lines is refused with what makes one of them', async (t) => {
  const log = newPath('a.log')
  for (const command of ['import', 'append']) {
    for (const text of ['[\n  {"n":1}\n]\n', '{\n  "n": 1\n}\n']) {
      const { code, stderr } = await callCommand([command, log], { input: text })
      t.equal(code, 1)
      t.match(stderr, /^millrace: line 1 of standard input is no record: a value only begins there; nothing was appended\. A record is one line: jq -c \. makes/)
    }
  }
  t.notOk(fs.existsSync(log))
})
