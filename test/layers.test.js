'use strict'
// The house as docs/internals/architecture.md draws it: a package imports only lower layers, never sideways or up.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')

const packages = path.join(__dirname, '..', 'packages')
const layerOf = {
  errors: 0,
  flow: 0.3,
  where: 0.5,
  'block-file': 1,
  framing: 1,
  dictionary: 1,
  'json-codec': 1,
  'binary-codec': 1,
  index: 1.5,
  otlp: 1.5,
  'offset-log': 2,
  forwarder: 3,
  'log-writer': 3,
  migrate: 3,
  repair: 3,
  'segmented-log': 3,
  'merged-log': 3.5,
  view: 3.5,
  pino: 4,
  ingest: 4,
  jetstream: 4,
  millrace: 5
}

tape('layers: the table of the architecture page has the same', (t) => {
  const page = fs.readFileSync(path.join(packages, '..', 'docs', 'internals', 'architecture.md'), 'utf8')
  const rows = [...page.matchAll(/^\| ([\d.]+) \| (`[^|]+`) \|/gm)]
  const drawn = rows.flatMap(([, layer, names]) => [...names.matchAll(/`([\w-]+)`/g)].map(([, name]) => [name, Number(layer)]))
  t.deepEqual(Object.fromEntries(drawn), layerOf)
  t.end()
})

/** Every module that the sources of a package require. */
function importsOf (name) {
  const sources = ['', 'lib'].flatMap((folder) => {
    return fs.readdirSync(path.join(packages, name, folder), { recursive: folder !== '' }).map((file) => path.join(folder, file))
  })
  return new Set(sources.filter((file) => file.endsWith('.js')).flatMap((file) => {
    const source = fs.readFileSync(path.join(packages, name, file), 'utf8')
    return [...source.matchAll(/require(?:\.resolve)?\('([^'.][^']*)'\)/g)].map((match) => match[1])
  }))
}

for (const [name, layer] of Object.entries(layerOf)) {
  tape(`layers: ${name} imports only what lies below it, and says so`, (t) => {
    const { dependencies, peerDependencies = {} } = JSON.parse(fs.readFileSync(path.join(packages, name, 'package.json'), 'utf8'))
    const imports = [...importsOf(name)].filter((module) => !module.startsWith('node:'))
    for (const module of imports.filter((module) => module.startsWith('@millrace/'))) {
      const [, imported, entry] = module.match(/^@millrace\/([^/]+)(?:\/(.+))?$/)
      t.ok(layerOf[imported] < layer, module)
      // A file beside index.js, if it is not that: nothing in lib.
      if (entry) t.ok(fs.existsSync(path.join(packages, imported, `${entry}.js`)) && !entry.includes('/'), `${module} is an entry`)
    }
    const imported = new Set(imports.map((module) => module.replace(/^(@[^/]+\/[^/]+|[^@/]+)\/.*/, '$1')))
    const declared = Object.keys({ ...dependencies, ...peerDependencies })
    t.deepEqual([...imported].sort(), declared.sort(), 'exactly its dependencies')
    t.end()
  })
}

tape('layers: only block-file touches the file system', (t) => {
  // The command reads and writes files that are no logs, too; ingest has a file of keys.
  for (const name of Object.keys(layerOf).filter((name) => name !== 'millrace' && name !== 'ingest')) {
    const touches = [...importsOf(name)].some((module) => /^(node:)?fs(\/|$)/.test(module))
    t.equal(touches, name === 'block-file', name)
  }
  t.end()
})

/** Who waits uses `performance.now()`. These read the wall clock, which may say anything, and why. */
const wallClockReaders = {
  'block-file/lib/lock/lock-file.js': 'for people: since when a lock is held',
  'flow/lib/clock.js': 'the rule on wall clocks; it compares them with the steady clock',
  'forwarder/lib/lag.js': 'the age that is shown, if the time of the record is plausible',
  'forwarder/lib/refused-records.js': 'stamps a record',
  'forwarder/lib/sinks/http-post.js': 'a Retry-After that is a date, if the answer has no Date; at most a day',
  'forwarder/lib/sinks/otlp-record.js': 'stamps a record',
  'ingest/lib/idempotency.js': 'which segments are old, by the rule of flow',
  'ingest/lib/keys.js': 'stamps a key',
  'ingest/lib/named-logs.js': 'stamps records, by the rule of flow',
  'ingest/lib/reading.js': 'what a client calls an hour ago',
  'log-writer/lib/gap.js': 'stamps a record',
  'log-writer/lib/log-writer.js': 'stamps a record',
  'log-writer/lib/shared-writer.js': 'stamps a record',
  'log-writer/lib/thread-writer.js': 'stamps a record',
  'merged-log/lib/merge.js': 'which times are plausible; how long to wait, but no longer than by the steady clock',
  'merged-log/lib/quota.js': 'which segments are old, by the rule of flow',
  'millrace/lib/cli/records.js': 'what a person calls an hour ago',
  'pino/lib/lines.js': 'stamps a record',
  'segmented-log/lib/appending.js': 'the day and age of a segment, by the rule of flow',
  'segmented-log/lib/keeping.js': 'until when a segment was written, by the rule of flow',
  'segmented-log/lib/opening.js': 'stamps a segment',
  'segmented-log/lib/retention.js': 'which segments are old, by the rule of flow'
}

tape('layers: only these files read the wall clock', (t) => {
  const found = Object.keys(layerOf).flatMap((name) => {
    const files = fs.readdirSync(path.join(packages, name), { recursive: true }).map((file) => file.split(path.sep).join('/'))
    const sources = files.filter((file) => /\.m?js$/.test(file) && !/^(test|node_modules|types)\//.test(file))
    return sources.map((file) => `${name}/${file}`)
  }).filter((file) => {
    const code = fs.readFileSync(path.join(packages, file), 'utf8').replace(/^\s*(\/\/|\*|\/\*).*$/gm, '')
    return /\bDate\.now\b|\bnew Date(\(\)|\b(?!\())|(?<!new )\bDate\(\)/.test(code)
  })
  t.deepEqual(found.sort(), Object.keys(wallClockReaders).sort())
  t.end()
})

tape('layers: nothing in the packages, not even a test, imports the lab', (t) => {
  const files = fs.readdirSync(packages, { recursive: true }).filter((file) => file.endsWith('.js') && !file.includes('node_modules'))
  const found = files.filter((file) => {
    return /require\('(@millrace\/lab|[./]+\/lab\/)/.test(fs.readFileSync(path.join(packages, file), 'utf8'))
  })
  t.deepEqual(found, [])
  t.end()
})

tape('layers: every package is placed', (t) => {
  t.deepEqual(fs.readdirSync(packages).sort(), [...Object.keys(layerOf), 'testkit'].sort())
  t.end()
})
