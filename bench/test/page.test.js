'use strict'

const { createHash } = require('node:crypto')
const fs = require('node:fs')
const http = require('node:http')
const path = require('node:path')
const tape = require('tape')
const { browserTest, scrollsSideways } = require('../../test/browser')
const { pickShown } = require('../engine/command')
const { Results } = require('../engine/results')
const { table } = require('../tables/layers')
const { writePage } = require('../page')
const { makeFolder } = require('./support')

const layers = table.groups[0].rows
const stacks = ['checked', 'offset32', 'flumelog'].map((name) => table.peers.find((peer) => peer.name === name))
const KIB = 1024
const SIZES = [16, 32, 64, 128]
const facts = {
  command: 'npm run bench',
  machine: 'Some CPU </script><b>, 2 cores, 24 GiB memory',
  node: 'v20.0.0',
  packages: 'some 1.0.0',
  input: 'generated; 1000 records, 2000000 bytes as JSON, 1000000 as binary; 1 have value.content.root == %x'
}

/** The second stack takes twice as long as the first, the last ten times; its smallest blocks are scaled. */
function makeReport () {
  const cases = layers.flatMap((layer) => SIZES.flatMap((kib) => {
    return stacks.map((stack, index) => ({ layer, kib, stack, index }))
  }))
  const results = new Results(cases.flatMap(({ layer, kib, stack, index }) => {
    const ms = (100 + kib) * [1, 2, 10][index]
    const scaled = index === 2 && kib === 16
    return (scaled ? [1] : [0.9, 1, 1.2]).map((factor, run) => {
      const figures = { ms: ms * factor, ...scaled && { scaled: 1 } }
      return { row: layer.name, peer: stack.name, at: kib * KIB, run: run + 1, figures }
    })
  }))
  return table.report(results, pickShown(table, results, facts))
}

async function savePage (t, change = (html) => html) {
  const file = path.join(makeFolder(t), 'report.html')
  fs.writeFileSync(file, change(await writePage(makeReport())))
  return file
}

const figures = (page, panel = 0) => page.locator('figure').nth(panel).locator('table').innerText()

/** The colours of a chart's pixels. */
const coloursOf = (page) => page.evaluate(() => {
  const canvas = document.querySelector('canvas')
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  const opaque = new Uint32Array(data.buffer).filter((word) => word >>> 24 === 255)
  return [...new Set(opaque.map((word) => word & 0xffffff))]
})

/** As the canvas has it: the first byte is red. */
const toPixel = (colour) => parseInt(colour.slice(5) + colour.slice(3, 5) + colour.slice(1, 3), 16)

tape('page: what it needs is in it, and its policy names just that', async (t) => {
  const html = await writePage(makeReport())
  const inline = [...html.matchAll(/<(style|script)(?: type="module")?>([\s\S]*?)<\/\1>/g)].map(([, , text]) => text)
  const hashes = inline.map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`)
  t.equal(inline.length, 4)
  const [, policy] = html.match(/http-equiv="Content-Security-Policy" content="([^"]*)"/)
  t.deepEqual(policy.match(/'[^']*'/g).filter((word) => word !== "'none'"), hashes)
  t.ok(policy.startsWith("default-src 'none';") && !policy.includes('unsafe'))
  t.notOk(/\s(src|href|action|srcset)=/.test(html), 'no address')
  t.ok(html.includes('Copyright (c) 2022 Leon Sorokin'), 'the licence of what is in it')
  t.notOk(html.includes('Some CPU </script>'), 'what the machine is called ends no element')
  t.equal(await writePage(makeReport()), html, 'the same figures give the same bytes')
})

browserTest('page: opens from disk in any width and scheme, asks for nothing, and complains of nothing', async (t, open) => {
  const file = await savePage(t)
  const palette = { false: ['#0072b2', '#009e73', '#d55e00'], true: ['#56b4e9', '#2fc89a', '#f0a030'] }
  for (const width of [360, 1440]) {
    for (const isDark of [false, true]) {
      const { page, requests, complaints } = await open({ path: file, width, isDark })
      const name = `${width} pixels, ${isDark ? 'dark' : 'light'}`
      t.equal(await page.locator('figure canvas').count(), layers.length, `${name}: a chart a layer`)
      t.equal(await scrollsSideways(page), false, `${name}: fits`)
      const colours = await coloursOf(page)
      await page.getByLabel('Records/s').check()
      t.equal(await scrollsSideways(page), false, `${name}: the widest figures fit`)
      for (const colour of palette[isDark]) t.ok(colours.includes(toPixel(colour)), `${name}: ${colour} is drawn`)
      t.equal(await page.locator('h1').innerText(), 'Millrace reads a log 10 times as fast as flumelog-offset (64 KiB blocks)')
      t.ok((await page.locator('#facts').innerText()).includes('Some CPU </script><b>, 2 cores'))
      t.deepEqual([requests.length, complaints], [1, []], `${name}: no request but the page, no complaint`)
    }
  }
})

browserTest('page: its policy stops whatever would leave the machine', async (t, open) => {
  const heard = []
  const server = http.createServer((request, response) => {
    heard.push(request.url)
    response.setHeader('access-control-allow-origin', '*')
    response.end('')
  })
  server.on('upgrade', ({ url }, socket) => {
    heard.push(url)
    socket.destroy()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const home = `127.0.0.1:${server.address().port}`
  const leak = async (page) => page.evaluate(async (home) => {
    const add = (name, attributes) => document.body.append(Object.assign(document.createElement(name), attributes))
    add('img', { src: `http://${home}/image` })
    add('script', { src: `http://${home}/script` })
    add('link', { rel: 'stylesheet', href: `http://${home}/style` })
    add('iframe', { src: `http://${home}/frame` })
    try { new WebSocket(`ws://${home}/socket`).onerror = () => {} } catch {}
    try { navigator.sendBeacon(`http://${home}/beacon`, 'x') } catch {}
    await fetch(`http://${home}/fetch`).catch(() => {})
    await import(`http://${home}/module`).catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 300))
  }, home)
  await leak((await open({ path: await savePage(t) })).page)
  t.deepEqual(heard, [])
  // Without it the same attempts succeed, or the test would show nothing.
  const unguarded = await savePage(t, (html) => html.replace(/<meta http-equiv.*>/, ''))
  await leak((await open({ path: unguarded })).page)
  t.deepEqual(heard.sort(), ['beacon', 'fetch', 'frame', 'image', 'module', 'script', 'socket', 'style'].map((name) => `/${name}`))
})

browserTest('page: pointing at a chart, or arrow keys on it, choose a block size in all charts', async (t, open) => {
  const { page } = await open({ path: await savePage(t) })
  t.equal(await figures(page), [
    '64 KiB blocks\tms\trange\tratio', 'Millrace, checked\t164\t148–197\t1.0×',
    'Millrace, offset32\t328\t295–394\t2.0×', 'flumelog-offset\t1,640\t1,476–1,968\t10×'].join('\n'))
  const box = await page.locator('.plot').first().boundingBox()
  await page.mouse.move(box.x + 70, box.y + 60)
  for (const panel of [0, 5]) t.ok((await figures(page, panel)).includes('16 KiB blocks\t'), `panel ${panel}`)
  t.ok((await figures(page)).includes('flumelog-offset\t~ 1,160\t\t11×'), 'scaled, and its one run is compared with the first one of the others, as in the charts')
  await page.locator('#stacks input').last().focus()
  await page.keyboard.press('Tab')
  for (const [key, kib] of [['ArrowRight', 32], ['End', 128], ['ArrowRight', 128], ['ArrowLeft', 64], ['Home', 16]]) {
    await page.keyboard.press(key)
    t.ok((await figures(page, 3)).startsWith(`${kib} KiB blocks`), key)
  }
  t.ok((await page.locator('.plot').first().getAttribute('aria-valuetext')).startsWith('16 KiB: Millrace, checked 116 ms'))
})

browserTest('page: the switches change charts, figures and the table, which can be copied', async (t, open) => {
  const { page, complaints } = await open({ path: await savePage(t) })
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const firstRow = () => page.locator('#table tbody tr').first().innerText()
  t.equal(await firstRow(), 'file\t16 KiB\t116 (104–139)\t232 (209–278)\t2.0×\t~ 1,160\t11×')
  const before = await page.locator('canvas').first().screenshot()
  await page.getByLabel('Linear').check()
  t.notOk(before.equals(await page.locator('canvas').first().screenshot()))
  t.ok((await page.locator('#note').innerText()).startsWith('Lower is better. Each chart has its own linear scale, from zero.'))
  await page.getByLabel('MB/s').check()
  t.equal(await firstRow(), 'file\t16 KiB\t17.2 (14.4–19.2)\t8.62 (7.18–9.58)\t2.0×\t~ 1.72\t11×', '2 MB in 116 ms')
  await page.getByLabel('Records/s').check()
  await page.getByLabel('Millrace, offset32').uncheck()
  t.equal(await firstRow(), 'file\t16 KiB\t8.62 (7.18–9.58)\t~ 0.862\t11×', '1000 records in 116 ms')
  t.ok((await page.locator('#note').innerText()).startsWith('Higher is better.'))
  await page.getByRole('button', { name: 'Copy as Markdown' }).click()
  await page.getByText('24 rows copied').waitFor()
  const lines = (await page.evaluate(() => navigator.clipboard.readText())).split('\n')
  t.equal(lines[0], '| layer | block | Millrace, checked, thousand records/s | flumelog-offset, thousand records/s | ratio |')
  t.equal(lines[2], '| file | 16 KiB | 8.62 (7.18–9.58) | ~ 0.862 | 11× |')
  for (const name of ['Millrace, checked', 'flumelog-offset']) await page.getByLabel(name).uncheck()
  t.equal(await page.locator('#note').innerText(), 'No stack is chosen.')
  t.deepEqual(complaints, [])
})

browserTest('page: paper is white, has no switches, and the charts fit on it', async (t, open) => {
  const { page } = await open({ path: await savePage(t), width: 718, isDark: true })
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  await page.waitForFunction(() => document.querySelector('canvas').clientHeight === 160)
  t.equal(await page.locator('#controls').isVisible(), false)
  t.ok((await coloursOf(page)).includes(toPixel('#0072b2')), 'the colours of light')
  t.equal(await scrollsSideways(page), false)
})

/** All that a report can have. */
function makeWholeReport () {
  const report = makeReport()
  return {
    ...report,
    machine: 'here',
    others: [{ ...report, machine: 'a laptop', layers: report.layers.slice(0, 5), blockSizes: [8192, 65536], stacks: report.stacks.slice(1) }],
    profiles: [
      { name: 'log', shares: ['a', 'b', 'c', 'd', 'e', 'f'].map((name, index) => ({ name, share: [0.4, 0.2, 0.15, 0.1, 0.1, 0.05][index] })) },
      { name: 'json', shares: [{ name: 'g', share: 0.75 }, { name: 'a', share: 0.25 }] }
    ]
  }
}

async function saveWholePage (t) {
  const file = path.join(makeFolder(t), 'report.html')
  fs.writeFileSync(file, await writePage(makeWholeReport()))
  return file
}

browserTest('page: another machine stands beside this one, layer by layer', async (t, open) => {
  const { page, complaints } = await open({ path: await saveWholePage(t) })
  const captions = await page.locator('figcaption strong').allInnerTexts()
  t.deepEqual(captions.slice(0, 4), ['file, here', 'file, a laptop', 'blocks, here', 'blocks, a laptop'])
  t.equal(captions.length, 11, 'but for the layer that the other has not measured')
  const [left, right] = await Promise.all([0, 1].map((index) => page.locator('figure').nth(index).boundingBox()))
  t.ok(left.y === right.y && right.x > left.x, 'beside each other')
  t.equal(await figures(page, 0), [
    '64 KiB blocks\tms\trange\tratio', 'Millrace, checked\t164\t148–197\t1.0×',
    'Millrace, offset32\t328\t295–394\t2.0×', 'flumelog-offset\t1,640\t1,476–1,968\t10×'].join('\n'))
  t.ok((await figures(page, 1)).includes('Millrace, checked\t-\t\t'), 'what it has not measured')
  t.equal(await page.locator('#table tbody tr').count(), 6 * 4 + 5 * 2, 'no row without a figure')
  const facts = await page.locator('#facts').innerText()
  for (const text of ['here: machine', 'a laptop: machine']) t.ok(facts.includes(text), text)
  t.deepEqual(complaints, [])
})

browserTest('page: a profile has a bar a layer, and its figures', async (t, open) => {
  const { page, requests, complaints } = await open({ path: await saveWholePage(t) })
  const rows = await page.locator('#pictures tr').allInnerTexts()
  t.deepEqual(rows, ['layer\tg\ta\tb\tc\tall others', 'log\t0%\t40%\t20%\t15%\t25%', 'json\t75%\t25%\t0%\t0%\t0%'])
  t.deepEqual(await page.locator('#pictures img').evaluateAll((images) => images.map(({ naturalWidth }) => naturalWidth)), [560])
  t.deepEqual([requests.filter((url) => !url.startsWith('data:')).length, complaints], [1, []], 'from the file itself')
})

browserTest('page: axe finds nothing, in any width and scheme', async (t, open) => {
  const places = [path.join(__dirname, '..', '..', 'scripts', 'site'), __dirname]
  let axe
  try {
    axe = process.env.AXE ?? require.resolve('axe-core/axe.min.js', { paths: places })
  } catch {
    return t.skip('no axe: npm ci in scripts/site, or say where one is with AXE=/path/to/axe.min.js')
  }
  for (const file of [await savePage(t), await saveWholePage(t)]) {
    for (const [width, isDark] of [[360, false], [360, true], [1440, false], [1440, true]]) {
      const { page } = await open({ path: file, width, isDark })
      t.equal(await scrollsSideways(page), false, `${width} pixels`)
      // Not as an element of the page, whose policy refuses it.
      await page.evaluate(fs.readFileSync(axe, 'utf8'))
      const { violations } = await page.evaluate('axe.run()')
      t.deepEqual(violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`)), [])
      await page.context().close()
    }
  }
})
