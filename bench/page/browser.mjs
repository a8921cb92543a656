// The page in the browser: a chart a layer, the figures at one block size below each, and all of them in a table.
// uPlot is there by its name: it is a script of the same file, and the policy of the page lets nothing be imported.

/** @typedef {import('./page.js').Page['layers'][0]} Layer */

/** @type {import('./page.js').Page} */
const page = JSON.parse(find('data').textContent ?? '')
const { blockSizes, layers } = page
const stacks = page.stacks.map((stack, index) => {
  const { mark, lineWidth } = page.looks[index]
  return { ...stack, index, isShown: true, lineWidth, path: new Path2D(mark) }
})
const state = { measure: 'ms', isLog: true, chosen: Math.max(0, blockSizes.indexOf(page.blockSize)) }
const PLOT_HEIGHT = 240
// Six charts on one page of paper, two beside each other: see style.css.
const PRINT_SIZE = { width: 320, height: 160 }
const STEPS = [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]]

/** @type {Record<string, { unit: string, better: string, of: (ms: number, layer: Layer) => number }>} */
const MEASURES = {
  ms: { unit: 'ms', better: 'lower', of: (ms) => ms },
  mb: { unit: 'MB/s', better: 'higher', of: (ms, { bytes }) => bytes / ms / 1000 },
  records: { unit: 'thousand records/s', better: 'higher', of: (ms, { records }) => records / ms }
}

/** @typedef {{ layer: Layer, index: number, plot: uPlot, area: HTMLElement, figures: HTMLElement }} Panel */
/** @type {Panel[]} */
let panels = []

/** @param {string} id */
function find (id) {
  return /** @type {HTMLElement} */ (document.getElementById(id))
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {Array<string | Node>} children
 */
function create (name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value))
  element.append(...children)
  return element
}

/** @param {string[]} texts */
function createHead (texts) {
  return create('thead', {}, create('tr', {}, ...texts.map((text) => create('th', { scope: 'col' }, text))))
}

/**
 * @param {string[]} texts
 * @param {Node[]} marks  before the first of them
 */
function createRow ([name, ...texts], ...marks) {
  return create('tr', {}, create('th', { scope: 'row' }, ...marks, name), ...texts.map((text) => create('td', {}, text)))
}

/** @param {number} value  in the unit that is chosen */
function format (value) {
  if (state.measure === 'ms') return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en')
  return Number(value.toPrecision(3)).toLocaleString('en')
}

/**
 * The median of the ratios run by run, as in the charts and tables: what slowed a round slowed both.
 * @param {import('./page.js').Cell} cell
 * @param {import('./page.js').Cell} first
 */
function formatRatio ({ runs }, first) {
  const ratios = runs.slice(0, first.runs.length).map((ms, run) => ms / first.runs[run]).sort((a, b) => a - b)
  const ratio = (ratios[(ratios.length - 1) >> 1] + ratios[ratios.length >> 1]) / 2
  return `${ratio < 9.95 ? ratio.toFixed(1) : Math.round(ratio)}×`
}

/** @param {string} name  of a variable of the style */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`)

const shown = () => stacks.filter(({ isShown }) => isShown)

/**
 * @param {number} layer
 * @param {number} size  index of the block size
 * @returns {Array<{ stack: typeof stacks[0], value: string, range: string, ratio: string }>}  as they are written
 */
function figuresOf (layer, size) {
  const { of } = MEASURES[state.measure]
  const first = shown()[0]?.cells[layer][size]
  return shown().map((stack) => {
    const cell = stack.cells[layer][size]
    if (!cell) return { stack, value: '-', range: '', ratio: '' }
    const [value, ...ends] = [cell.median, cell.min, cell.max].map((ms) => of(ms, layers[layer]))
    const [least, most] = ends.sort((a, b) => a - b).map(format)
    return {
      stack,
      value: `${cell.scaled ? '~ ' : ''}${format(value)}`,
      range: least === most ? '' : `${least}–${most}`,
      ratio: first ? formatRatio(cell, first) : ''
    }
  })
}

/** @param {number} index  of a stack */
function createMark (index) {
  const namespace = 'http://www.w3.org/2000/svg'
  const svg = document.createElementNS(namespace, 'svg')
  const path = svg.appendChild(document.createElementNS(namespace, 'path'))
  const attributes = { class: 'mark', viewBox: '-7 -7 14 14', 'aria-hidden': 'true' }
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value)
  path.setAttribute('d', page.looks[index].mark)
  path.style.fill = `var(--stack-${index})`
  return svg
}

/**
 * All charts share one logarithmic scale, so that equal heights are equal ratios; each has its own linear one.
 * @param {number} layer
 * @returns {[number, number]}
 */
function rangeOf (layer) {
  const { of } = MEASURES[state.measure]
  const values = layers.flatMap((one, index) => {
    if (!state.isLog && index !== layer) return []
    const cells = shown().flatMap((stack) => stack.cells[index].flatMap((cell) => cell ?? []))
    return cells.flatMap(({ min, max }) => [of(min, one), of(max, one)])
  })
  if (values.length === 0) return state.isLog ? [1, 10] : [0, 1]
  return state.isLog ? [Math.min(...values) / 1.4, Math.max(...values) * 1.4] : [0, Math.max(...values) * 1.08]
}

/**
 * Of a logarithmic scale: powers of ten, and what lies between them where few of these fit.
 * @param {number} min
 * @param {number} max
 */
function findTicks (min, max) {
  const choices = STEPS.map((steps) => Array.from({ length: 14 }, (_, index) => {
    return steps.map((step) => Number(`${step}e${index - 3}`)).filter((tick) => tick >= min && tick <= max)
  }).flat())
  return choices.find((ticks) => ticks.length > 2) ?? choices[choices.length - 1]
}

/**
 * @param {number} index  of the layer
 * @param {HTMLElement} area
 * @returns {uPlot}
 */
function createPlot (index, area) {
  const { unit, of } = MEASURES[state.measure]
  const [least, most] = [blockSizes[0], blockSizes[blockSizes.length - 1]]
  // One size alone has no width: it goes in the middle.
  const margin = least === most ? 2 : 1.12
  const named = blockSizes.filter((size) => blockSizes.length <= 8 || Number.isInteger(Math.log2(size)))
  const look = {
    stroke: () => colour('muted'),
    grid: { stroke: () => colour('grid'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
    labelFont: '12px system-ui, sans-serif',
    labelSize: 18,
    gap: 6
  }
  /** @type {uPlot.Options} */
  const options = {
    width: area.clientWidth,
    height: PLOT_HEIGHT,
    legend: { show: false },
    cursor: { x: false, y: false, points: { show: false }, drag: { x: false, y: false } },
    padding: [8, 8, 0, 0],
    scales: {
      x: { time: false, distr: 3, log: 2, range: [least / margin, most * margin] },
      y: { distr: state.isLog ? 3 : 1, range: () => rangeOf(index) }
    },
    axes: [
      {
        ...look,
        label: 'block size, KiB',
        size: 24,
        splits: () => named,
        filter: (_, splits) => splits,
        values: (_, splits) => splits.map((size) => String(size / 1024))
      },
      {
        ...look,
        label: state.measure === 'ms' ? 'time, ms' : unit,
        size: 46,
        ...(state.isLog && { splits: (_, axis, min, max) => findTicks(min, max), filter: (_, splits) => splits }),
        values: (_, splits) => splits.map((tick) => tick.toLocaleString('en'))
      }
    ],
    // Drawn by `draw`, with the marks that the other charts have.
    series: [{}, ...shown().map(() => ({ paths: () => null, points: { show: false } }))],
    hooks: { draw: [(plot) => draw(plot, index)], setCursor: [({ cursor }) => choose(cursor.idx)] }
  }
  const rows = shown().map(({ cells }) => cells[index].map((cell) => cell && of(cell.median, layers[index])))
  return new uPlot(options, [blockSizes, ...rows], area)
}

/**
 * @param {uPlot} plot
 * @param {number} layer
 */
function draw ({ ctx, bbox, valToPos }, layer) {
  const { of } = MEASURES[state.measure]
  const scale = devicePixelRatio
  const line = (/** @type {number[]} */ [x1, y1, x2, y2], /** @type {string} */ stroke, width = 1, dash = 0) => {
    ctx.strokeStyle = stroke
    ctx.lineWidth = width * scale
    ctx.setLineDash(dash ? [dash * scale] : [])
    ctx.beginPath()
    ctx.moveTo(x1, y1)
    ctx.lineTo(x2, y2)
    ctx.stroke()
  }
  ctx.save()
  const chosen = valToPos(blockSizes[state.chosen], 'x', true)
  line([chosen, bbox.top, chosen, bbox.top + bbox.height], colour('axis'), 1, 4)
  for (const { cells, index, path, lineWidth } of shown()) {
    const paint = colour(`stack-${index}`)
    const points = cells[layer].flatMap((cell, size) => {
      if (!cell) return []
      const [y, min, max] = [cell.median, cell.min, cell.max].map((ms) => valToPos(of(ms, layers[layer]), 'y', true))
      const x = valToPos(blockSizes[size], 'x', true)
      return [{ x, y, min, max, isHollow: cell.scaled, isChosen: size === state.chosen }]
    })
    for (const [at, { x, y, min, max, isHollow }] of points.entries()) {
      const before = points[at - 1]
      line([x, min, x, max], paint)
      if (before) line([before.x, before.y, x, y], paint, lineWidth, isHollow || before.isHollow ? 5 : 0)
    }
    ctx.setLineDash([])
    for (const { x, y, isHollow, isChosen } of points) {
      const zoom = scale * (isChosen ? 1.5 : 1) * (points.length > 20 ? 0.6 : 1)
      ctx.setTransform(zoom, 0, 0, zoom, x, y)
      ctx.fillStyle = isHollow ? colour('card') : paint
      ctx.lineWidth = 1.6
      ctx.fill(path)
      if (isHollow) ctx.stroke(path)
      ctx.resetTransform()
    }
  }
  ctx.restore()
}

/**
 * In all charts at once.
 * @param {number | null | undefined} index  of a block size; the last one stays chosen when the pointer leaves
 */
function choose (index) {
  if (typeof index !== 'number' || index === state.chosen || !blockSizes[index]) return
  state.chosen = index
  for (const { plot } of panels) plot.redraw(false)
  showFigures()
}

function showFigures () {
  const { unit } = MEASURES[state.measure]
  const size = `${blockSizes[state.chosen] / 1024} KiB`
  for (const { area, figures, layer, index } of panels) {
    const rows = figuresOf(index, state.chosen)
    figures.replaceChildren(
      createHead([`${size} blocks`, unit, 'range', 'ratio']),
      create('tbody', {}, ...rows.map(({ stack, value, range, ratio }) => {
        return createRow([stack.label, value, range, ratio], createMark(stack.index))
      }))
    )
    const text = rows.map(({ stack, value, ratio }) => `${stack.label} ${value} ${unit}, ${ratio}`).join('; ')
    const now = { label: `${layer.name}: ${layer.meaning}; block size`, valuenow: state.chosen, valuetext: `${size}: ${text}` }
    for (const [name, value] of Object.entries(now)) area.setAttribute(`aria-${name}`, String(value))
  }
}

/** @returns {string[][]}  of the table, its heads first */
function listRows () {
  const { unit } = MEASURES[state.measure]
  const heads = shown().flatMap(({ label }, index) => index === 0 ? [`${label}, ${unit}`] : [`${label}, ${unit}`, 'ratio'])
  return [['layer', 'block', ...heads], ...layers.flatMap(({ name }, layer) => blockSizes.flatMap((blockSize, size) => {
    const cells = figuresOf(layer, size).flatMap(({ value, range, ratio }, index) => {
      const text = range ? `${value} (${range})` : value
      return index === 0 ? [text] : [text, ratio]
    })
    // Machines that stand beside each other need not have the same block sizes.
    return cells.every((text) => text === '-' || text === '') ? [] : [[name, `${blockSize / 1024} KiB`, ...cells]]
  }))]
}

/** All that depends on what is chosen above the charts. */
function show () {
  const { better } = MEASURES[state.measure]
  const how = state.isLog ? 'All charts share one logarithmic scale: equal distances are equal ratios.' : 'Each chart has its own linear scale, from zero.'
  find('note').textContent = shown().length === 0
    ? 'No stack is chosen.'
    : `${better[0].toUpperCase()}${better.slice(1)} is better. ${how} Block sizes are always logarithmic.`
  for (const panel of panels) {
    panel.plot.destroy()
    panel.plot = createPlot(panel.index, panel.area)
  }
  showFigures()
  const [heads, ...rows] = listRows()
  find('table').replaceChildren(createHead(heads), create('tbody', {}, ...rows.map((texts) => createRow(texts))))
  find('copied').textContent = ''
}

/** @param {Event} event */
async function copy ({ target }) {
  if (!(target instanceof HTMLButtonElement)) return
  const rows = listRows()
  const lines = target.value === 'tabs'
    ? rows.map((row) => row.join('\t'))
    : [rows[0], rows[0].map((_, index) => index < 1 ? '---' : '--:'), ...rows.slice(1)].map((row) => `| ${row.join(' | ')} |`)
  try {
    await navigator.clipboard.writeText(`${lines.join('\n')}\n`)
    find('copied').textContent = `${rows.length - 1} rows copied`
  } catch {
    window.getSelection()?.selectAllChildren(find('table'))
    find('copied').textContent = 'The browser refused: the table is selected, copy it with its own command.'
  }
}

/** @param {KeyboardEvent} event */
function move (event) {
  const last = blockSizes.length - 1
  const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -last, End: last }[event.key]
  if (step === undefined) return
  event.preventDefault()
  choose(Math.min(last, Math.max(0, state.chosen + step)))
}

/** @param {boolean} isPrint */
function fit (isPrint) {
  for (const { plot, area } of panels) {
    plot.setSize(isPrint ? PRINT_SIZE : { width: area.clientWidth, height: PLOT_HEIGHT })
  }
}

find('subtitle').textContent = page.subtitle
find('panels').style.setProperty('--column', page.machines > 1 ? `${1200 / page.machines}px` : '400px')
for (const { title, svg, alt, heads, rows } of page.pictures) {
  const table = create('table', {}, createHead(heads), create('tbody', {}, ...rows.map((texts) => createRow(texts))))
  const region = create('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': title }, table)
  const image = create('img', { src: `data:image/svg+xml,${encodeURIComponent(svg)}`, alt })
  find('pictures').append(create('section', {}, create('h2', {}, title), image, region))
}
find('facts').append(...page.facts.flatMap(([name, value]) => [create('dt', {}, name), create('dd', {}, value)]))
find('stacks').append(...stacks.map((stack) => {
  const input = Object.assign(create('input', { type: 'checkbox', value: stack.index }), { checked: true })
  return create('label', {}, input, createMark(stack.index), stack.label)
}))
panels = layers.map((layer, index) => {
  const area = create('div', { class: 'plot', tabindex: 0, role: 'slider', 'aria-valuemin': 0, 'aria-valuemax': blockSizes.length - 1 })
  const figures = create('table')
  const caption = create('figcaption', {}, create('strong', {}, layer.name), create('span', {}, layer.meaning))
  find('panels').append(create('figure', {}, caption, area, figures))
  area.addEventListener('keydown', move)
  return { layer, index, area, figures, plot: createPlot(index, area) }
})
find('controls').addEventListener('change', ({ target }) => {
  if (!(target instanceof HTMLInputElement)) return
  if (target.name === 'measure') state.measure = target.value
  else if (target.name === 'scale') state.isLog = target.value === 'log'
  else stacks[Number(target.value)].isShown = target.checked
  show()
})
document.querySelector('.buttons')?.addEventListener('click', copy)
const print = window.matchMedia('print')
new ResizeObserver(() => fit(print.matches)).observe(find('panels'))
print.addEventListener('change', ({ matches }) => fit(matches))
window.addEventListener('beforeprint', () => fit(true))
window.addEventListener('afterprint', () => fit(false))
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show)
show()
