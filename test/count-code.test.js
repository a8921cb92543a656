'use strict'

const tape = require('tape')
const { countCode, countLines } = require('../scripts/count-code')

tape('count-code: a line counts if it has a token, and a text of two lines is two', (t) => {
  const text = ['// a comment', "'use strict'", '', '/**', ' * another', ' */', 'const a = `one', 'two`', '} '].join('\n').replace('\n} ', '')
  t.equal(countLines(text, false), 3)
  t.equal(countLines('export const a = 1\n\n', true), 1)
  t.end()
})

tape('count-code: tests and the lab are left out, unless they are named', (t) => {
  const files = (...places) => countCode(places).map(({ file }) => file)
  t.deepEqual(files('scripts/count-words.js', 'test/words.test.js'), ['scripts/count-words.js', 'test/words.test.js'])
  t.ok(files('packages/framing').every((file) => !file.includes('/test/')))
  t.ok(files('packages/framing/test').length > 0)
  t.ok(files().every((file) => !file.startsWith('lab/')))
  t.ok(files('lab').length > 100)
  t.end()
})
