'use strict'

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { isPartial, parseOptions: parse } = require('../engine/command')
const { table } = require('../tables/layers')
const { UserError } = require('../lib/run')
const { makeFolder, runBench, frame } = require('./support')

const parseOptions = (argv) => parse(table, argv)
const names = (parts) => parts.map((part) => part.name)

tape('options: the defaults are those of its notes', (t) => {
  const options = parseOptions([])
  t.deepEqual(options.blockSizes, [1, 2, 4, 8, 16, 32, 64, 128].map((kib) => kib * 1024))
  t.deepEqual(names(options.rows), ['file', 'blocks', 'log', 'json', 'stream', 'binary'])
  t.deepEqual(names(options.peers), ['checked', 'checked-stream', 'offset32', 'lines', 'flumelog'])
  t.equal(options.runs, 3)
  t.equal(options.records, 458803)
  t.equal(options.file, undefined)
  t.equal(options.command, 'npm run bench')
  t.end()
})

tape('options: lists, numbers and flags are understood', (t) => {
  const options = parseOptions(['--blocks', '64,16,64', '--layers', 'json,log', '--runs=2', '--records', '10'])
  t.deepEqual(options.blockSizes, [16384, 65536], 'in order, each once')
  t.deepEqual(names(options.rows), ['log', 'json'], 'in the order of the table')
  t.equal(options.runs, 2)
  t.equal(options.records, 10)
  t.equal(parseOptions(['--full']).blockSizes.length, 127)
  t.equal(parseOptions(['-h']).help, true)
  t.end()
})

tape('options: the command in the outputs holds no path', (t) => {
  const { command } = parseOptions(['--file', '/some/where/my.log', '--out', '/else/where', '--runs', '1'])
  t.equal(command, 'npm run bench -- --file my.log --runs 1')
  t.end()
})

tape('options: a run is whole if nothing that is measured was left out, also one that installs peers first', (t) => {
  for (const argv of [[], ['--runs', '1'], ['--install', '--keep']]) t.notOk(isPartial(parseOptions(argv)), argv.join(' '))
  for (const argv of [['--layers', 'log'], ['--records', '10'], ['--blocks', '1']]) t.ok(isPartial(parseOptions(argv)), argv.join(' '))
  t.equal(parseOptions(['--install', '--keep']).command, 'npm run bench')
  t.end()
})

tape('options: each wrong one is refused with one line', (t) => {
  const wrong = [['--blokcs', '1'], ['stray'], ['--blocks'], ['--blocks', ''], ['--blocks', '1,,2'], ['--blocks', '0'],
    ['--blocks', '1.5'], ['--blocks', 'big'], ['--blocks', '-1'], ['--layers', 'nosuch'], ['--layers', 'constructor'],
    ['--stacks', 'nosuch'], ['--stacks', './nosuch.js'], ['--runs', '0'], ['--runs', 'x'], ['--runs', '1e3'],
    ['--records', '0'], ['--records', '99999999'], ['--file', ''], ['--out', ''], ['--full', '--blocks', '1'],
    ['--file', 'x', '--records', '1'], ['--full=yes'], ['--draw', '--runs', '1'], ['--layers', 'log', '--rows', 'log'], ['--tolerance', 'x'], ['--minutes', '0']]
  for (const argv of wrong) {
    try {
      parseOptions(argv)
      t.fail(`${argv.join(' ')} was accepted`)
    } catch (err) {
      t.ok(err instanceof UserError && !err.message.includes('\n'), `${argv.join(' ')}: ${err.message}`)
    }
  }
  t.end()
})

tape('bench: a wrong option or file is one line on stderr and exit code 2', (t) => {
  const folder = makeFolder(t)
  const write = (name, bytes) => {
    fs.writeFileSync(path.join(folder, name), bytes)
    return path.join(folder, name)
  }
  const whole = frame(['{"a":1}', '{"b":2}'])
  const cases = {
    'an unknown option': ['--nosuch'],
    'an unknown layer': ['--layers', 'nosuch'],
    'a missing file': ['--file', path.join(folder, 'missing')],
    'a file in a file': ['--file', path.join(write('no-folder', 'x'), 'log')],
    'a directory': ['--file', folder],
    'an empty file': ['--file', write('empty', '')],
    'no offset log': ['--file', write('text', 'Lorem ipsum dolor sit amet, consectetur adipisicing elit')],
    'a few bytes': ['--file', write('few', 'abc')],
    'a torn log': ['--file', write('torn', whole.subarray(0, whole.length - 5))],
    'a log that is not JSON': ['--file', write('raw', frame(['not json', 'either']))],
    'a log that is not JSON all through': ['--file', write('mixed', frame(['{"a":1}', 'not json']))],
    'an output folder that is a file': ['--records', '10', '--out', write('file', 'x')],
    'an output folder in a file': ['--records', '10', '--out', path.join(write('file', 'x'), 'out')]
  }
  for (const [name, args] of Object.entries(cases)) {
    const { status, stdout, stderr } = runBench(...(args.includes('--out') ? args : [...args, '--out', folder]))
    t.equal(status, 2, `${name}: exit code`)
    t.equal(stdout, '', `${name}: nothing on stdout`)
    const lines = stderr.trim().split('\n').filter((line) => !/^(converting to binary|layers: )/.test(line))
    t.equal(lines.length, 1, `${name}: ${stderr.trim()}`)
    t.ok(lines[0].startsWith('bench: '))
  }
  t.end()
})

tape('bench --help: names every option and every layer', (t) => {
  const { status, stdout, stderr } = runBench('--help')
  t.equal(status, 0)
  t.equal(stderr, '')
  const readme = fs.readFileSync(path.join(__dirname, '..', 'notes', 'layers.md'), 'utf8')
  for (const name of ['blocks', 'full', 'layers', 'stacks', 'runs', 'records', 'file', 'out', 'help']) {
    t.ok(stdout.includes(`--${name}`), `--${name}`)
    t.ok(readme.includes(`--${name}`), `--${name} in the notes`)
  }
  for (const { name, what } of parseOptions([]).rows) t.ok(stdout.includes(name) && stdout.includes(what), name)
  t.ok(/^Exit codes:\n {2}0 +done\n {2}1 +.*a goal was missed by more than 10%.*\n {2}2 +/m.test(stdout), stdout)
  t.end()
})

tape('bench: a saved result is read back beside a new one; one that is not there is told before anything is measured', (t) => {
  const out = makeFolder(t)
  const few = ['--layers', 'log', '--stacks', 'checked', '--blocks', '16', '--records', '300', '--runs', '5', '--out', out]
  const saved = path.join(out, 'mine.csv')
  t.equal(runBench(...few, '--save', saved).status, 0)
  const { status, stdout } = runBench(...few, '--with', saved)
  t.equal(status, 0)
  t.ok(stdout.includes('\n## mine: '), stdout)
  t.ok(fs.readFileSync(path.join(out, 'images', 'report.html'), 'utf8').includes('mine'))
  const compared = runBench(...few, '--against', saved)
  t.ok(/^log checked 16 KiB .* at 5 runs/m.test(compared.stdout) && compared.stdout.includes('measured earlier'), compared.stdout)
  fs.writeFileSync(path.join(out, 'other.csv'), 'row,peer,at,run,figure,value\nappend-one,millrace,,1,ms,3\n')
  for (const [args, words] of [
    [['--with', path.join(out, 'gone.csv')], /^bench: --with: .*gone\.csv/],
    [['--with', path.join(out, 'other.csv')], /has no results of layers/],
    [['--save', path.join(out, 'no', 'x.json')], /^bench: --save: there is no folder/],
    [['--against', 'nosuch'], /^bench: --against: "nosuch" is neither/]
  ]) {
    const { status, stderr } = runBench(...few, ...args)
    t.equal(status, 2, args.join(' '))
    t.ok(words.test(stderr.trim()), stderr)
  }
  t.end()
})
