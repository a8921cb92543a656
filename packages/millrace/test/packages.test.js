'use strict'
// Packages that do not come with millrace: a command that needs one says so, and all others work without it.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { newPath, temporaryFolder } = require('@millrace/testkit')
const { findMissing, missingError } = require('../lib/cli/packages')
const manifest = require('../package.json')
const { commandNames, loadCommand } = require('../lib/cli/commands')
const { runCommand } = require('./run-command')

const OPTIONAL = ['@millrace/forwarder', '@millrace/ingest', '@millrace/jetstream', '@millrace/pino']
const HIDING = path.join(__dirname, 'hide-packages.js')

/** Runs a command as if these packages were not installed. */
function runWithout (names, words) {
  return runCommand(words, { env: { NODE_OPTIONS: `--require "${HIDING}"`, HIDDEN: names.join() } })
}

tape('packages: those that only some commands need do not come with millrace', (t) => {
  t.deepEqual(Object.keys(manifest.peerDependencies).sort(), OPTIONAL)
  t.deepEqual(manifest.peerDependenciesMeta, Object.fromEntries(OPTIONAL.map((name) => [name, { optional: true }])))
  t.deepEqual(OPTIONAL.filter((name) => name in manifest.dependencies), [])
  const needed = commandNames.flatMap((name) => loadCommand(name).needs ?? [])
  t.deepEqual(needed.filter((name) => !OPTIONAL.includes(name)), [])
  t.end()
})

for (const [words, names, said] of [
  [['serve', 'data'], ['@millrace/ingest'], 'millrace serve needs the package @millrace/ingest; install it: npm install @millrace/ingest'],
  [['serve', 'data', '--port', '0', '--frobnicate'], ['@millrace/ingest'], 'millrace serve needs the package @millrace/ingest; install it: npm install @millrace/ingest'],
  [['serve', 'data', '--port', '0', '--access-log', 'access'], ['@millrace/pino'], '--access-log needs the package @millrace/pino; install it: npm install @millrace/pino'],
  [['keys', 'list', 'data'], ['@millrace/ingest'], 'millrace keys needs the package @millrace/ingest; install it: npm install @millrace/ingest'],
  [['ship', 'a.log', 'nats://127.0.0.1/a'], ['@millrace/jetstream'], 'millrace ship needs the package @millrace/jetstream; install it: npm install @millrace/jetstream'],
  [['ship', 'a.log', 'nats://127.0.0.1/a', '--follow'], ['@millrace/forwarder', '@millrace/jetstream'],
    'millrace ship needs the packages @millrace/forwarder and @millrace/jetstream; install them: npm install @millrace/forwarder @millrace/jetstream'],
  [['cat', 'nats://127.0.0.1/a'], ['@millrace/jetstream'], 'an address of a stream needs the package @millrace/jetstream; install it: npm install @millrace/jetstream'],
  [['info', 'tls://127.0.0.1/a'], ['@millrace/jetstream'], 'an address of a stream needs the package @millrace/jetstream; install it: npm install @millrace/jetstream']
]) {
  tape(`packages: without ${names.join(' and ')}, millrace ${words.join(' ')} says what to install`, async (t) => {
    const { code, stdout, stderr } = await runWithout(names, words)
    t.equal(stderr, `millrace: ${said}\n`)
    t.equal(stdout, '')
    t.equal(code, 2)
  })
}

tape('packages: without any of them all other commands work, and so does the help of these', async (t) => {
  const folder = temporaryFolder()
  const log = path.join(folder, 'a.log')
  const records = ['{"level":30,"time":1764115200000,"msg":"one"}', '{"level":50,"time":1764115201000,"msg":"two"}']
  for (const record of records) t.equal((await runWithout(OPTIONAL, ['append', log, record])).code, 0)
  t.equal((await runWithout(OPTIONAL, ['cat', log])).stdout, `${records.join('\n')}\n`)
  t.equal((await runWithout(OPTIONAL, ['tail', '--pretty', '--level', 'error', log])).stdout, '2025-11-26 00:00:01.000 ERROR two\n')
  for (const command of ['info', 'count', 'verify', 'bench']) {
    const { code, stderr } = await runWithout(OPTIONAL, [command, log])
    t.equal(code, 0, `${command} ${stderr}`)
  }
  for (const command of ['serve', 'keys', 'ship']) {
    const { code, stdout } = await runWithout(OPTIONAL, [command, '--help'])
    t.equal(code, 0)
    t.match(stdout, /It\s+needs\s+the\s+packages?\s+@millrace\//, command)
  }
  const { code, stdout } = await runWithout(OPTIONAL, ['--help'])
  t.equal(code, 0)
  for (const command of commandNames) t.match(stdout, new RegExp(`^ +${command} `, 'm'))
  t.match((await runWithout(OPTIONAL, ['completion', 'bash'])).stdout, / serve\)/)
})

tape('packages: with them, a command goes on as before', async (t) => {
  const folder = temporaryFolder()
  const { code, stderr } = await runWithout(['@millrace/forwarder', '@millrace/jetstream', '@millrace/pino'], ['keys', 'create', folder, '--scope', 'read:*'])
  t.equal(code, 0, stderr)
  t.ok(fs.existsSync(path.join(folder, 'keys.json')))
  t.deepEqual(findMissing(OPTIONAL), [])
})

tape('packages: where millrace is installed for the whole machine, so must they be', (t) => {
  const place = newPath('node_modules', 'millrace', 'lib', 'cli')
  fs.mkdirSync(place, { recursive: true })
  const copy = path.join(place, 'packages.js')
  fs.copyFileSync(require.resolve('../lib/cli/packages'), copy)
  fs.symlinkSync(path.dirname(require.resolve('@millrace/errors/package.json')), path.join(place, '..', '..', '..', 'errors'), 'junction')
  fs.writeFileSync(copy, fs.readFileSync(copy, 'utf8').replace("'@millrace/errors'", "'../../../errors'"))
  const message = () => {
    delete require.cache[copy]
    return require(copy).missingError(['@millrace/pino'], 'this').message
  }
  t.equal(message(), 'this needs the package @millrace/pino; install it: npm install --global @millrace/pino')
  fs.writeFileSync(path.join(place, '..', '..', '..', '..', 'package.json'), '{}')
  t.equal(message(), 'this needs the package @millrace/pino; install it: npm install @millrace/pino')
  t.equal(missingError(['@millrace/pino'], 'this').message, message(), 'nor in a workspace')
  t.end()
})
