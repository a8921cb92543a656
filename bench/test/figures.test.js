'use strict'

const { spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { composePages, writePages } = require('../figures/pages')
const { makeFolder } = require('./support')

const ROOT = path.join(__dirname, '..', '..')
const PEERS = `# command: npm run bench:peers
# machine: Some CPU, 2 cores
# node: v20
# packages: p 1
# input: 100 messages
# absent: scan of flumelog-offset: not installed
row,peer,at,run,figure,value
scan,checked,,1,rate,100
scan,checked,,1,records,5
scan,checked,,2,rate,3000
scan,checked,,3,rate,2000
scan,sqlite,,1,rate,1000
query,checked,,1,rate,100
query,sqlite,,1,rate,50
query,sqlite-index,,1,rate,5000000
`
const LIMITS = `# command: npm run bench -- limits
# machine: Some CPU, 2 cores
# node: v20
# packages: p 1
row,peer,at,run,figure,value
append-one,millrace,,1,ms,2
append-one,sqlite,,1,ms,4
append-one,millrace,,2,ms,3
append-one,sqlite,,2,ms,4
memory,millrace,,1,bytes,2000000
`

/** A folder with data, and with one page of this text. */
function makeRoot (t, text) {
  const root = makeFolder(t)
  fs.mkdirSync(path.join(root, 'data'))
  fs.mkdirSync(path.join(root, 'docs', 'node_modules'), { recursive: true })
  fs.writeFileSync(path.join(root, 'data', 'peers.csv'), PEERS)
  fs.writeFileSync(path.join(root, 'data', 'limits.csv'), LIMITS)
  fs.writeFileSync(path.join(root, 'docs', 'page.md'), text)
  fs.writeFileSync(path.join(root, 'docs', 'node_modules', 'other.md'), '<!-- figures: nothing -->')
  return root
}

/** What the page has after the figures were written. */
function write (t, text) {
  const root = makeRoot(t, text)
  writePages(root)
  return fs.readFileSync(path.join(root, 'docs', 'page.md'), 'utf8')
}

/** The text between the comments of one figure. */
function figure (t, request) {
  const begin = `A <!-- figure: ${request} -->`
  const text = write(t, `${begin}old<!-- end --> end\n`)
  t.ok(text.startsWith(begin) && text.endsWith('<!-- end --> end\n'), text)
  return text.slice(begin.length, text.indexOf('<!-- end'))
}

tape('figures: every table and figure of every page is what data/*.csv says now', (t) => {
  const pages = composePages(ROOT)
  t.ok(pages.length > 0)
  for (const { file, text, written } of pages) t.ok(text === written, `${file}, or else: npm run figures`)
  t.end()
})

tape('figures: no page has a marker of the kind that was replaced', (t) => {
  for (const { file, text } of composePages(ROOT)) t.notOk(/<!-- bench:/.test(text), file)
  t.end()
})

tape('figures: a figure is the median of its runs, and is compared with another one', (t) => {
  t.equal(figure(t, 'peers scan checked'), '2,000')
  t.equal(figure(t, 'peers scan checked / sqlite'), '2.0')
  t.equal(figure(t, 'peers scan sqlite / scan checked'), '0.50')
  t.equal(figure(t, 'peers scan checked / peers query checked'), '20')
  t.equal(figure(t, 'peers scan sqlite / checked as percent'), '50%')
  t.equal(figure(t, 'peers scan rate checked'), '2,000')
  t.equal(figure(t, 'peers query sqlite-index as millions'), '5')
  t.equal(figure(t, 'peers query sqlite-index as thousands'), '5,000')
  t.equal(figure(t, 'peers scan checked as range'), '100 to 3,000')
  t.equal(figure(t, 'peers machine'), 'Some CPU, 2 cores')
  t.equal(figure(t, 'limits append-one millrace'), '2.5 ms')
  t.equal(figure(t, 'limits append-one millrace as range'), '2 to 3 ms')
  t.equal(figure(t, 'limits append-one ratio'), '0.63')
  t.equal(figure(t, 'limits append-one speed as range'), '1.33 to 2.0')
  t.equal(figure(t, 'limits memory millrace as MB'), '2 MB')
  t.end()
})

tape('figures: a table stands between its two lines, and the rest of the page is left alone', (t) => {
  const text = write(t, 'before\n\n<!-- figures: peers -->\nold\n<!-- figures end -->\n\nafter <!-- a comment -->\n')
  t.ok(text.startsWith('before\n\n<!-- figures: peers -->\n\n| thousands of records a second | `scan` | `query` | queried by |\n'), text)
  t.ok(text.includes('| Millrace, checked | **2** | 0.1 | `where` |\n'), text)
  t.ok(text.includes('Absent: flumelog-offset: not installed'), text)
  t.ok(text.endsWith('\n\n<!-- figures end -->\n\nafter <!-- a comment -->\n'), text)
  t.equal(write(t, text), text, 'the same again')
  t.ok(write(t, '<!-- figures: limits appends -->\n<!-- figures end -->\n').includes('| `append-one` | '))
  t.ok(write(t, '<!-- figures: peers facts -->\n<!-- figures end -->\n').includes('on Some CPU, 2 cores, Node v20; p 1.\n'))
  t.equal(figure(t, 'limits met / judged'), '1.00')
  t.end()
})

tape('figures: a fenced example is left alone', (t) => {
  const text = '```md\n<!-- figures: nonsense -->\n<!-- figures end -->\n<!-- figure: nonsense -->\n```\n'
  t.equal(write(t, text), text)
  t.end()
})

tape('figures: a marker that asks for what is not there is named with its line, and no page is changed', (t) => {
  const faults = {
    'a <!-- figure: peers scan nobody -->1<!-- end -->': 'docs/page.md:3: data has no figure "peers scan nobody"',
    'a <!-- figure: peers constructor -->1<!-- end -->': 'docs/page.md:3: data has no figure "peers constructor"',
    'a <!-- figure: nothing scan checked -->1<!-- end -->': 'docs/page.md:3: there are no figures "nothing": choose from ',
    'a <!-- figure: growth scan-10MB ours -->1<!-- end -->': 'docs/page.md:3: there is no data/growth.csv',
    'a <!-- figure: peers scan checked as words -->1<!-- end -->': 'docs/page.md:3: there is no form "words": choose from ',
    'a <!-- figure: peers scan checked / machine -->1<!-- end -->': 'docs/page.md:3: data has no figure "peers scan machine"',
    'a <!-- figure: limits append-one millrace / limits memory millrace -->1<!-- end -->': 'docs/page.md:3: "limits append-one millrace / limits memory millrace" compares figures of two units',
    'a <!-- figure: -->1<!-- end -->': 'docs/page.md:3: "" asks for no figure',
    '<!-- figure: peers scan checked -->1<!-- end -->': 'docs/page.md:3: <!-- figure: peers scan checked -->1<!-- end --> must not begin a line',
    'a <!-- figure: peers scan checked -->1': 'docs/page.md:3: <!-- figure: peers scan checked --> has no end',
    '<!-- figures: peers -->\n<!-- figures: limits -->\n<!-- figures end -->': 'docs/page.md:3: <!-- figures: peers --> has no end',
    '<!-- figures: peers long -->\n<!-- figures end -->': 'docs/page.md:3: there is no table "peers long": choose from peers, peers short, peers bench-flumelog, peers facts'
  }
  for (const [text, fault] of Object.entries(faults)) {
    const whole = `A <!-- figure: peers scan checked -->old<!-- end -->\n\n${text}\n`
    const root = makeRoot(t, whole)
    const message = catchMessage(() => writePages(root))
    t.ok(message.replaceAll('\\', '/').startsWith(fault), message)
    t.equal(fs.readFileSync(path.join(root, 'docs', 'page.md'), 'utf8'), whole)
  }
  t.end()
})

tape('figures: the command checks without writing, and refuses an unknown option', (t) => {
  const run = (...args) => spawnSync(process.execPath, [path.join(ROOT, 'bench', 'figures', 'index.js'), ...args], { encoding: 'utf8' })
  t.equal(run('--check').status, 0)
  const { status, stderr } = run('--chek')
  t.deepEqual([status, /^figures: .*--chek/.test(stderr)], [2, true], stderr)
  t.end()
})

function catchMessage (run) {
  try {
    run()
  } catch (err) {
    return err.message
  }
  return 'it did not throw'
}
