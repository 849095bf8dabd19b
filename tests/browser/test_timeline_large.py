"""The timeline's browser side alone, in a blank page: a million events, hostile ones, keys, disposal."""

import statistics

import pytest

from tfnb.notebook.assets import widget_module

# Draws a trace of `n` events in six rows; every tenth is a wait for the event before it.
DRAW = """async ([source, n, name]) => {
    const url = URL.createObjectURL(new Blob([source], {type: 'text/javascript'}));
    const {default: module} = await import(url);
    const rows = 6, per = Math.ceil(n / rows);
    const start = new Float64Array(n), end = new Float64Array(n), row = new Int32Array(n), label = new Int32Array(n);
    const kind = new Uint8Array(n), step = new Int32Array(n), cause = new Int32Array(n).fill(-1);
    const critical = new Uint8Array(n);
    let seed = 1;
    const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
    const at = new Float64Array(rows);
    for (let i = 0; i < n; i++) {
        const r = i % rows;
        start[i] = at[r] + random() * 3;
        end[i] = at[r] = start[i] + random() ** 4 * 60;
        row[i] = r; label[i] = i % 300; kind[i] = i % 10 ? r : 6; critical[i] = r === 0 ? 1 : 0;
        if (i % 10 === 0 && i >= rows) cause[i] = i - rows + 1;
    }
    // By begin, as the kernel sends them.
    const order = Array.from(start.keys()).sort((a, b) => start[a] - start[b]);
    const place = new Int32Array(n);
    order.forEach((i, k) => { place[i] = k; });
    const sorted = column => column.map((_, k) => column[order[k]]);
    const causes = sorted(cause).map(c => c < 0 ? -1 : place[c]);
    const columns = [sorted(start), sorted(end), sorted(row), sorted(label), sorted(kind), step, causes, sorted(critical)];
    const labels = Array.from({length: 300}, (_, k) => `${name}${k}`);
    const table = labels.map((text, k) => ({label: k, name: text, op: name, made: name, kind: 'kernel', count: 1,
        total_us: 300 - k, mean_us: 1, max_us: 1, share: (300 - k) / 45150}));
    const trace = {kinds: ['kernel', 'host', 'launch', 'compile', 'transfer', 'schedule', 'wait'],
        lanes: Array.from({length: rows}, (_, r) => ({device: name, name: `${name} ${r}`, row: r, rows: 1})),
        labels, n_rows: rows, span_us: Math.max(...at), steps: [[0, Math.max(...at)]], table, summary: name,
        account: [['kernels', 5], ['other', 1]]};
    const heard = {};
    window.told = [];
    const model = {get: () => 'k', on: (event, act) => { heard[event] = act; }, off: () => {}, widget_manager: {},
        send: message => { told.push(message); if (message.type === 'ready') heard['msg:custom'](
            {type: 'data', trace}, columns.map(c => new DataView(c.buffer))); }};
    document.body.innerHTML = '<div data-tfnb-view="k"></div>';
    const begin = performance.now();
    window.dispose = await module.initialize({model});
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return performance.now() - begin;
}"""
# Milliseconds from frame to frame while the wheel zooms from all to nanoseconds and back, and moves.
FRAMES = """() => new Promise(done => {
    const canvas = document.querySelector('.tfnb-tl canvas'), box = canvas.getBoundingClientRect();
    const found = [];
    let last = 0, n = 0;
    const wheel = (deltaY, more) => canvas.dispatchEvent(new WheelEvent('wheel',
        {deltaY, clientX: box.left + 500, clientY: box.top + 60, cancelable: true, ...more}));
    const turn = now => {
        if (n) found.push(now - last);
        last = now;
        wheel(n < 40 ? -160 : 160, {ctrlKey: true});
        wheel(n % 2 ? 60 : -45, {shiftKey: true});
        if (++n < 80) requestAnimationFrame(turn); else done(found);
    };
    requestAnimationFrame(turn);
})"""


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True, device_scale_factor=2)
    page = context.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto("about:blank")
    yield page
    context.close()
    assert faults == []


def draw(page, n, name="operation "):
    return page.evaluate(DRAW, [widget_module("timeline"), n, name])


def test_a_million_events_move_at_thirty_frames_a_second(page):
    assert draw(page, 1_000_000) < 10_000
    rounds = []
    for _ in range(5):  # other work on the machine can only make it slower
        rounds.append(statistics.median(page.evaluate(FRAMES)))
        if rounds[-1] <= 1000 / 30:
            break
    assert min(rounds) <= 1000 / 30, rounds


def test_names_are_texts_and_keys_steer(page):
    evil = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
    draw(page, 6000, evil)
    page.locator("button.slowest").click()
    assert evil in page.locator(".card h4").text_content()
    page.locator(".tfnb-tl canvas").hover(position={"x": 400, "y": 40})
    assert page.evaluate("() => [window.hacked, document.images.length, document.scripts.length]") == [None, 0, 0]
    canvas = page.locator(".tfnb-tl canvas")
    canvas.focus()
    seen = []
    for key in ("Home", "+", "+", "ArrowRight", "-", "Home"):
        page.keyboard.press(key)
        page.evaluate("new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))")
        seen.append(page.evaluate("document.querySelector('.tfnb-tl canvas').toDataURL()"))
    assert len(set(seen)) == 5 and seen[0] == seen[-1]
    page.keyboard.press("n")
    assert evil in page.locator("[role=status]").text_content()
    assert "arrow keys" in canvas.get_attribute("aria-label")
    ratio = page.evaluate("devicePixelRatio * document.querySelector('.tfnb-tl canvas').clientWidth")
    assert ratio == page.evaluate("document.querySelector('.tfnb-tl canvas').width") > 1000
    page.evaluate("dispose()")
    assert page.locator(".tfnb-tl").count() == 0
