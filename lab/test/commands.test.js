'use strict'
// The command lines of the lab: each says what it takes, and what is wrong with what it was given.

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')

const LAB = path.join(__dirname, '..')
const folders = ['.', 'campaigns', 'models'].flatMap((folder) => fs.readdirSync(path.join(LAB, folder)).map((name) => path.join(folder, name)))
const commands = folders.filter((folder) => fs.existsSync(path.join(LAB, folder, 'index.js')))

// Gives a command one list of arguments after the other, in one process: to start one takes most of the time.
const ASK = `
  const [file, lists] = process.argv.slice(1)
  const write = process.stdout.write.bind(process.stdout)
  const answers = JSON.parse(lists).map((args) => {
    const answer = { out: '', err: '' }
    process.argv = [process.execPath, file, ...args]
    process.exitCode = 0
    process.stdout.write = (text) => { answer.out += text }
    console.error = (text) => { answer.err += text + '\\n' }
    delete require.cache[file]
    require(file)
    return { code: process.exitCode, ...answer }
  })
  write(JSON.stringify(answers))
  process.exit(0)`

/** @type {(command: string, lists: string[][]) => { code: number | null, out: string, err: string }[]} */
function ask (command, lists) {
  const file = path.join(LAB, command, 'index.js')
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', ASK, file, JSON.stringify(lists)], { encoding: 'utf8', timeout: 30_000 })
  if (stderr !== '' || !stdout.startsWith('[')) throw new Error(`${command}: ${stderr}${stdout}`)
  return JSON.parse(stdout)
}

/** @type {(command: string, ...args: string[]) => { code: number | null, out: string, err: string }} */
function run (command, ...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(LAB, command), ...args], { encoding: 'utf8', timeout: 30_000 })
  return { code: status, out: stdout, err: stderr }
}

tape('commands: all of the lab are here', (t) => {
  const expected = ['fuzz', 'segments', 'torture', 'conditions', 'flume', 'folder-kills', 'follow', 'lock-namespaces', 'lock-race', 'one-box', 'readers', 'run-flips', 'text-readers', 'folder-lock', 'lock']
  t.deepEqual(commands.map((command) => path.basename(command)), expected)
  t.end()
})

for (const command of commands) {
  tape(`commands: ${command}: --help lists its options, each of which refuses what it does not take`, (t) => {
    const { code, out, err } = run(command, '--help')
    t.deepEqual([code, err], [0, ''])
    const lines = out.split('\n')
    t.ok(lines.every((line) => line.length <= 100 && line === line.trimEnd()), out)
    const options = lines.flatMap((line) => /^ {2}--([a-z-]+)(?: (N|TEXT))? {2,}\S/.exec(line)?.slice(1, 3).join(' ').trim() ?? [])
    t.ok(options.includes('help') && options.length > 1, options.join(', '))
    const { code: refusal } = run(command, '--nonsense')
    t.equal(refusal, 2, 'the exit code of the process')
    const wrongs = [
      [['--nonsense'], 'there is no option --nonsense'],
      [['nonsense'], 'there is no option nonsense'],
      [['-h'], 'there is no option -h'],
      [['--help=yes'], '--help takes no value'],
      ...options.flatMap((option) => {
        const [name, kind] = option.split(' ')
        if (kind === undefined) return []
        const wrong = kind === 'N' ? [[[`--${name}`, 'many'], `--${name} needs a number, got many`], [[`--${name}=-1`], `--${name} needs a number, got -1`]] : []
        return [[[`--${name}`], `--${name} needs a value`], [[`--${name}`, '--help'], `--${name} needs a value`], ...wrong]
      })
    ]
    const answers = ask(command, wrongs.map(([args]) => args))
    for (const [index, [args, reason]] of wrongs.entries()) {
      const refused = answers[index]
      t.deepEqual([refused.code, refused.out, refused.err.split('; --help')[0].replace(/^[a-z:-]+: /, '')], [2, '', reason], args.join(' '))
    }
    t.end()
  })
}

tape('commands: numbers and names have their limits, and options that do not go together are refused', (t) => {
  for (const [command, args, reason] of [
    ['torture', ['--seed', '4294967296'], 'torture: --seed must be at most 4294967295, got 4294967296'],
    ['torture', ['--seconds', '0'], 'torture: --seconds must be above 0'],
    ['torture', ['--workers', '65'], 'torture: --workers must be at most 64, got 65'],
    ['torture', ['--workloads', '1.5'], 'torture: --workloads needs a number, got 1.5'],
    ['torture', ['--framing', 'checkd'], 'torture: --framing must be one of checked, lines, got checkd'],
    ['torture', ['--kill', '3', '--disk'], 'torture: --kill and --disk do not go together'],
    ['torture', ['--only', 'x'], 'torture: --only is for --planted and --disk'],
    ['torture', ['--disk', '--only', 'x'], 'torture: --only needs history.generation.state, got x'],
    ['torture', ['--states', '3'], 'torture: --states is for --disk'],
    ['torture', ['--replay', 'x'], 'torture: --replay: '],
    ['fuzz', ['--only', 'indx'], 'fuzz: --only must be one of records, parts, logs, verify, repair, lines, index, got indx'],
    ['fuzz', ['--replay', 'x'], 'fuzz: --replay: '],
    ['segments', ['--states', '3'], 'torture:segments: --states is for the torture with --disk'],
    ['segments', ['--disk', '--seconds', '3'], 'torture:segments: --seconds is for the torture without --disk'],
    ['campaigns/conditions', ['--kill', '--http'], 'conditions: --kill and --http do not go together']
  ]) {
    const [{ code, err }] = ask(command, [args])
    t.ok(code === 2 && err.startsWith(reason) && err.endsWith('; --help lists the options\n'), `${code} ${err}`)
  }
  t.end()
})
