'use strict'
// A destination whose log is plain text files of JSON lines.

const fs = require('node:fs')
const path = require('node:path')
const pino = require('pino')
const tape = require('tape')
const { destination, preset } = require('..')
const { newFolder, readAll } = require('./helper')

/** What is in the files, by a reader that knows nothing of logs. */
function parseFiles (folder) {
  const names = fs.readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.jsonl')).sort()
  return names.flatMap((name) => {
    return fs.readFileSync(path.join(folder, name), 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line))
  })
}

for (const slots of [false, 2]) {
  tape(`lines: the files are the lines of pino, with slots: ${slots}`, async (t) => {
    const folder = newFolder()
    const to = destination(folder, { slots, log: { framing: 'lines' }, handleSignals: false })
    const logger = pino(to)
    for (let n = 0; n < 100; n++) logger.info({ n }, 'two\nlines')
    await to.close()
    const found = parseFiles(folder)
    t.deepEqual(found.map(({ n, msg }) => [n, msg]), Array.from({ length: 100 }, (_, n) => [n, 'two\nlines']))
    if (slots === false) t.deepEqual(await readAll(folder), found)
  })
}

tape('lines: a preset takes the option', async (t) => {
  const folder = newFolder()
  const [options, to] = preset('production', folder, { log: { framing: 'lines' }, handleSignals: false })
  pino(options, to).info('hello')
  await to.close()
  t.deepEqual(parseFiles(folder).map(({ msg }) => msg), ['hello'])
})
