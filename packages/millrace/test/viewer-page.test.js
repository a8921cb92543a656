'use strict'
// The viewer's page in a real browser.

const fs = require('node:fs')
const http = require('node:http')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { newPath } = require('@millrace/testkit')
const { browserTest, scrollsSideways } = require('../../../test/browser')
const { openViewed } = require('../lib/viewer/open')
const { serve } = require('../lib/viewer/server')

const START_MS = Date.parse('2026-01-01T00:00:00Z')
const HOSTILE = {
  timestamp: START_MS + 10_000_000,
  type: '<script>document.title = "taken"</script><img src="http://evil.example/x" onerror="document.title = \'taken\'">',
  text: '\u001b[31mred\u001b[0m \u202eevil\u202c \u0007\u009b1m',
  huge: 'x'.repeat(10_000_000)
}

async function makeLog (count, extra = []) {
  const file = newPath('events.log')
  const log = OffsetLog(file, { codec: jsonCodec })
  const records = Array.from({ length: count }, (_, index) => {
    return { timestamp: START_MS + index * 1000, level: index % 5 * 10, type: ['login', 'post'][index % 2], n: index }
  })
  await log.append([...records, ...extra])
  await log.close()
  return file
}

async function view (t, file) {
  const { viewed, close: closeLog } = await openViewed(file)
  const { url, close } = await serve(viewed)
  t.teardown(async () => {
    await close()
    await closeLog()
  })
  return url
}

const rowCount = (page) => page.locator('#list li[data-seq]').count()

browserTest('viewer page: records, time line, one record, a filter, with nothing from elsewhere', async (t, open) => {
  const url = await view(t, await makeLog(2000))
  for (const look of [{ width: 1440, height: 900 }, { width: 360, height: 740, isDark: true }]) {
    const { page, requests, complaints } = await open({ url, ...look })
    await page.waitForSelector('#list li[data-seq]')
    t.match(await page.textContent('#list li[data-seq]'), /"n":1999/)
    await page.waitForSelector('#chart canvas')
    await page.waitForFunction(() => document.querySelector('#timeline-title').textContent.includes('records'))
    t.notOk(await scrollsSideways(page), `${look.width} pixels`)
    await page.fill('#query', 'type=login level=20')
    await page.waitForFunction(() => document.querySelector('#status').textContent.includes('found,') &&
      document.querySelector('#status').textContent.includes('ms'))
    t.match(await page.textContent('#list li[data-seq]'), /"level":20,"type":"login"/)
    await page.click('#list li[data-seq]')
    await page.waitForSelector('#tree .key')
    t.match(await page.textContent('#tree'), /type: "login"/)
    t.ok(requests.every((request) => request.startsWith(url)), `${requests.length} requests, all to the viewer`)
    t.deepEqual(complaints, [])
  }
})

browserTest('viewer page: the list goes down to the first record, and by the keyboard', async (t, open) => {
  const url = await view(t, await makeLog(300))
  const { page } = await open({ url })
  await page.waitForSelector('#list li[data-seq]')
  // The end of the list never leaves what is seen for as long as one frame.
  await page.evaluate(() => {
    const goDown = () => { document.getElementById('records').scrollTop = 1e6 }
    new document.defaultView.MutationObserver(goDown).observe(document.getElementById('list'), { childList: true })
    goDown()
  })
  await page.waitForFunction(() => document.getElementById('end').textContent === 'This is the first record.')
  t.equal(await rowCount(page), 300)
  t.match(await page.textContent('#list li[data-seq]:last-child'), /"n":0/)
  await page.evaluate(() => { document.getElementById('records').scrollTop = 0 })
  await page.focus('#list')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.waitForFunction(() => document.querySelector('#tree').textContent.includes('298'))
  t.equal(await page.locator('#list li[aria-selected=true]').count(), 1)
  await page.focus('#chart')
  await page.keyboard.press('ArrowRight')
  t.match(await page.textContent('#timeline-value'), /records from 2026-01-01/)
  await page.fill('#query', 'type=login')
  await page.waitForFunction(() => document.getElementById('end').textContent === 'No older record passes the filter.')
  t.equal(await rowCount(page), 150, 'so does the list of what a filter finds')
})

browserTest('viewer page: what a record holds is text, however hostile', async (t, open) => {
  const url = await view(t, await makeLog(5, [HOSTILE]))
  const { page, requests, complaints } = await open({ url })
  await page.waitForSelector('#list li[data-seq]')
  await page.click('#list li[data-seq]')
  await page.waitForSelector('#tree .key')
  t.match(await page.textContent('#tree'), /<script>document\.title/)
  t.match(await page.textContent('#tree'), /\\u\{202e\}evil\\u\{202c\}/)
  t.notOk(/[\u202a-\u202e\u0080-\u009f]/.test(await page.textContent('body')))
  t.equal(await page.title(), 'events.log, Millrace')
  t.ok((await page.textContent('#tree')).length < 100_000, 'not all of 10 MB')
  await page.click('#tree button')
  await page.waitForFunction(() => document.querySelector('#tree').textContent.length > 20_000)
  t.ok(requests.every((request) => request.startsWith(url)))
  t.deepEqual(complaints, [])
})

browserTest('viewer page: another site cannot read it', async (t, open) => {
  const url = await view(t, await makeLog(5))
  const other = http.createServer((request, response) => response.setHeader('Content-Type', 'text/html').end('<p>other'))
  await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const { page } = await open({ url: `http://127.0.0.1:${other.address().port}/` })
  const found = await page.evaluate(async (url) => {
    const read = (options) => fetch(`${url}page`, options).then((response) => response.text(), () => 'refused')
    const frame = document.createElement('iframe')
    frame.src = url
    document.body.append(frame)
    await new Promise((resolve) => { frame.onload = resolve })
    let framed = 'refused'
    try {
      framed = frame.contentDocument?.body.textContent ?? 'refused'
    } catch {}
    const script = await new Promise((resolve) => {
      const element = document.createElement('script')
      element.src = `${url}main.mjs`
      element.onload = () => resolve('loaded')
      element.onerror = () => resolve('refused')
      document.body.append(element)
    })
    return [await read(), await read({ mode: 'no-cors' }), framed, script]
  }, url)
  t.deepEqual(found, ['refused', 'refused', 'refused', 'refused'])
})

browserTest('viewer page: appended records come by themselves, and damage is red', async (t, open) => {
  const file = await makeLog(1000)
  const url = await view(t, file)
  const { page } = await open({ url })
  await page.waitForSelector('#list li[data-seq]')
  await page.click('#follow')
  const writer = OffsetLog(file, { codec: jsonCodec })
  await writer.append({ type: 'fresh' })
  await page.waitForFunction(() => document.querySelector('#list li[data-seq]').textContent.includes('fresh'))
  t.pass('followed')
  await writer.close()

  const bytes = fs.readFileSync(file)
  bytes[bytes.length - 40_000] ^= 1
  fs.writeFileSync(file, bytes)
  const damaged = await open({ url: await view(t, file) })
  await damaged.page.waitForSelector('#list li[data-seq]')
  await damaged.page.click('#verify')
  await damaged.page.waitForFunction(() => document.querySelector('#damage').textContent.includes('Verified'))
  t.match(await damaged.page.textContent('#damage'), /1 damaged range/)
  await damaged.page.click('#damage button')
  await damaged.page.waitForSelector('#list li.bad')
  t.match(await damaged.page.textContent('#list li.bad'), /damaged: .* at offset/)
})

browserTest('viewer page: with a filter, Follow shows what passes, and the time line grows', async (t, open) => {
  const file = await makeLog(1000)
  const url = await view(t, file)
  const { page, complaints } = await open({ url })
  await page.waitForSelector('#chart canvas')
  await page.click('#count')
  await page.waitForFunction(() => document.querySelector('#timeline-title').textContent.startsWith('1,000 records'))
  await page.click('#follow')
  await page.fill('#query', 'type=post "late"')
  await page.waitForFunction(() => document.getElementById('status').textContent.startsWith('0 found'))
  const writer = OffsetLog(file, { codec: jsonCodec })
  const at = (index) => START_MS + index * 1000
  await writer.append([{ timestamp: at(1000), type: 'post', text: 'late 1' }, { timestamp: at(1001), type: 'login', text: 'late 2' }])
  await page.waitForSelector('#list li[data-seq]')
  await writer.append(Array.from({ length: 1000 }, (_, index) => ({ timestamp: at(1002 + index), type: 'post', text: 'early' })))
  await writer.append({ timestamp: at(3000), type: 'post', text: 'late 3' })
  await page.waitForFunction(() => document.querySelectorAll('#list li[data-seq]').length === 2)
  t.match(await page.textContent('#list li[data-seq]'), /late 3/, 'the newest first')
  await page.waitForFunction(() => document.querySelector('#timeline-title').textContent.includes('to 2026-01-01 00:50:00'))
  t.match(await page.textContent('#timeline-title'), /^2,003 records/, 'what was counted, and what came')
  await page.fill('#query', 'type=login "late"')
  await page.waitForFunction(() => document.querySelector('#list li[data-seq]')?.textContent.includes('late 2'))
  await writer.append({ timestamp: at(3001), type: 'login', text: 'late 4' })
  await page.waitForFunction(() => document.querySelector('#list li[data-seq]').textContent.includes('late 4'))
  t.equal(await rowCount(page), 2, 'another filter follows, too')
  await page.fill('#query', '')
  await page.waitForFunction(() => document.querySelectorAll('#list li[data-seq]').length > 2)
  await writer.append({ timestamp: at(3002), type: 'other', text: 'last' })
  await page.waitForFunction(() => document.querySelector('#list li[data-seq]').textContent.includes('last'))
  await writer.close()
  t.deepEqual(complaints, [])
})

browserTest('viewer page: the time line is a slider with a value, and its axis has the times of the records', async (t, open) => {
  const url = await view(t, await makeLog(2000))
  // 12 hours, and far from UTC.
  const { page } = await open({ url, locale: 'en-US', timezoneId: 'America/New_York' })
  await page.waitForSelector('#chart canvas')
  const drawn = await page.evaluate(async () => {
    const texts = []
    const draw = document.defaultView.CanvasRenderingContext2D.prototype
    const { fillText } = draw
    draw.fillText = function (text, ...rest) {
      texts.push(text)
      return fillText.call(this, text, ...rest)
    }
    document.getElementById('chart').style.width = '700px'
    await new Promise((resolve) => setTimeout(resolve, 300))
    return texts
  })
  t.ok(drawn.includes('00:10') && drawn.includes('00:30'), drawn.join(' '))
  t.notOk(drawn.some((text) => /[ap]m/i.test(text)), 'no 12 hours')
  await page.focus('#chart')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  const attribute = (name) => page.getAttribute('#chart', name)
  t.deepEqual([await attribute('aria-valuemin'), await attribute('aria-valuenow'), await attribute('aria-valuemax')], ['0', '1', '119'])
  t.match(await attribute('aria-valuetext'), /records from 2026-01-01/)
  await page.click('#count')
  await page.waitForFunction(() => document.getElementById('count').hidden)
  await page.focus('#chart')
  await page.keyboard.press('ArrowRight')
  t.equal(await attribute('aria-valuenow'), '2', 'it goes on where it was when the time line was drawn anew')
})
