'use strict'
// The torture itself: it finds nothing in the log, something in one that lies, and says how to see it again.

const { spawnSync } = require('node:child_process')
const path = require('node:path')
const tape = require('tape')
const { runTorture } = require('../torture/run-torture')

const SCRIPT = path.join(__dirname, '..', 'torture', 'index.js')
const LIAR = path.join(__dirname, '..', 'torture', 'liar')
const seed = Date.now() % 2 ** 31

const run = (...args) => spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' })

tape(`torture: nothing promised is lost in any image of a few workloads (seed ${seed})`, async (t) => {
  const { figures, failures } = await runTorture({ seed, workloads: 40, workers: 1 })
  t.deepEqual(failures, [])
  t.equal(figures.workloads, 40)
  t.ok(figures.distinct > 500, `${figures.distinct} distinct images`)
  t.ok(figures.distinctNested >= figures.distinct / 10, `${figures.distinctNested} of them during recovery`)
  t.deepEqual(Object.keys(figures.modes).sort(), ['always', 'interval', 'never'])
})

// `npm run torture -- --framing lines` takes other seeds.
tape('torture: nothing promised is lost in any image of a few workloads of a log of lines', async (t) => {
  const { figures, failures } = await runTorture({ framing: 'lines', seed: 1, workloads: 40, workers: 1 })
  t.deepEqual(failures, [])
  t.ok(figures.distinct > 500, `${figures.distinct} distinct images`)
  t.deepEqual(Object.keys(figures.modes).sort(), ['always', 'interval', 'never'])
})

/** A sync that was under way when the process was killed. */
const KILLED_SYNC = JSON.stringify({
  version: 1,
  workload: {
    framing: 'lines',
    salt: 1307454634,
    fsync: 'always',
    hasJitter: false,
    isSlow: true,
    operations: [
      { do: 'append', records: [[0, 8, 'random']], isBatch: false, isAwaited: true },
      { do: 'sync', isAwaited: false },
      { do: 'reopen', how: 'kill', fsync: 'always', seed: 1231717642 },
      { do: 'append', records: [[2, 2, 'zeros']], isBatch: false, isAwaited: true },
      { do: 'fault', call: 'sync', fault: { losesPages: true }, skip: 0, count: 1 },
      { do: 'append', records: [[3, 11, 'random']], isBatch: false, isAwaited: true },
      { do: 'wait' },
      { do: 'append', records: [[4, 77, 'random']], isBatch: false, isAwaited: true }
    ]
  },
  steps: []
})

tape('torture: a sync of a process that was killed took the fault of the next one, which was then not poisoned', (t) => {
  const { status, stdout } = run('--replay', KILLED_SYNC)
  t.equal(status, 0, stdout.slice(-200))
  t.match(stdout, /ERR_LOG_POISONED/, 'the fault is that of the process that runs')
  t.end()
})

tape('torture: a log of lines that lies is caught', async (t) => {
  const options = { framing: 'lines', seed: 1, workloads: 40, workers: 0, logModule: LIAR, stopAtFailure: true, shrinks: false }
  const { failures } = await runTorture(options)
  t.equal(failures.length, 1)
})

tape('torture: the same seed and number of workloads give the same images, on any number of threads', async (t) => {
  const digests = []
  for (const workers of [0, 1, 2]) {
    const { figures } = await runTorture({ seed: 5, workloads: 12, workers })
    digests.push(`${figures.digest} ${figures.images}`)
  }
  t.equal(digests[1], digests[0])
  t.equal(digests[2], digests[0])
})

tape('torture: a log that lies is caught, and the failure replays from one line, made small', async (t) => {
  const { failures } = await runTorture({ seed: 1, workloads: 20, workers: 0, logModule: LIAR, stopAtFailure: true })
  t.equal(failures.length, 1)
  const [{ kind, replay }] = failures
  t.equal(kind, 'promised lost')
  t.ok(JSON.parse(replay).workload.operations.length <= 3, replay)
  const again = run('--log', LIAR, '--replay', replay)
  t.equal(again.status, 1)
  t.match(again.stdout, /FAILED {2}promised lost/)
  const { workload, steps } = JSON.parse(replay)
  const unfitting = run('--replay', JSON.stringify({ version: 1, workload, steps: [{ ...steps[0], at: 1000 }] }))
  t.equal(unfitting.status, 2)
  t.match(unfitting.stderr, /there is no call 1000/)
  const harmless = run('--replay', JSON.stringify({ version: 1, workload, steps: [] }))
  t.equal(harmless.status, 0)
  t.match(harmless.stdout, /all is as promised/)
})

tape('torture: the command prints its seed and figures', (t) => {
  const { status, stdout } = run('--workloads', '5', '--seed', '3', '--workers', '1')
  t.equal(status, 0)
  t.match(stdout, /^seed 3: 5 workloads, .* distinct images/)
  t.match(stdout, /0 promised records lost, 0 never appended, 0 half commits, 0 refusals/)
  t.end()
})

tape('torture: a failure is printed with its line, and ends the command with 1', (t) => {
  const options = ['--framing', 'checked', '--workloads', '5', '--seed', '1', '--workers', '1', '--stop']
  const { status, stdout } = run(...options, '--log', LIAR)
  t.equal(status, 1)
  t.match(stdout, /FAILED {2}workload \d+: promised lost/)
  t.match(stdout, /npm run torture -- --replay '\{/)
  t.end()
})

tape('torture: wrong options are explained, and end the command with 2', (t) => {
  const wrong = [['--seconds', 'x'], ['--seconds'], ['--seconds', '0'], ['--bogus'], ['word'], ['--workers', '1.5'],
    ['--seed', String(2 ** 40)], ['--replay', '{'], ['--replay', '{"version":2}'], ['--log', '/nowhere'],
    ['--seconds', '1', '--workloads', '1'], ['--kill', '1', '--planted']]
  for (const args of wrong) {
    const { status, stderr } = run(...args)
    t.equal(status, 2, args.join(' '))
    if (!/^torture: .*--help/.test(stderr)) t.fail(stderr)
  }
  const help = run('--help')
  t.equal(help.status, 0)
  t.match(help.stdout, /--seconds N/)
  t.end()
})
