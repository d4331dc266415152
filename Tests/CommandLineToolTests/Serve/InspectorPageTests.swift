import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Drives the page of `serve` in a browser with the keyboard. Serialized, since each test starts a browser.
@Suite(.serialized, .ownThreads, .enabled(if: Browser.path != nil, "no Chromium is installed"))
struct InspectorPageTests {
  let scratch = try! Scratch()

  /// A server, and a browser that shows its page.
  private func opened(isWritable: Bool = false) throws -> (InspectorSession, Browser) {
    let session = try InspectorSession(cache: scratch.cache, isWritable: isWritable)
    let browser = try Browser()
    try browser.open(session.address)
    #expect(try browser.shows("document.querySelector('.row') && document.activeElement.id === 'list'"))
    let mode = isWritable ? "writable" : "read-only"
    #expect(try browser.shows("document.getElementById('mode').textContent === '\(mode)'"))
    return (session, browser)
  }

  /// No errors, and no requests to other servers.
  private func expectPeace(_ browser: Browser, _ session: InspectorSession) throws {
    #expect(browser.troubles == [])
    let addresses = browser.requests.map(\.address)
    #expect(addresses.allSatisfy { $0.hasPrefix(session.address) || $0 == "about:blank" } && addresses.count > 10)
  }

  /// The text of an element.
  private func text(_ selector: String) -> String { "document.querySelector('\(selector)')?.textContent" }

  private static let png = Data(
    base64Encoded:
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")!

  @Test func thePageIsUsedByKeysAlone() throws {
    try scratch.fill(300)
    let cache = try scratch.open()
    try cache.set(#"{"name":"Ada"}"#, forKey: "user:1")
    try cache.set(Self.png, forKey: "user:image")
    try cache.flush()
    let (session, browser) = try opened()
    /// Presses keys, and waits until the page is as expected.
    func press(_ keys: String..., shows expressions: String...) throws {
      for key in keys { try browser.press(key) }
      for expression in expressions { #expect(try browser.shows(expression), "\(keys): \(expression)") }
    }
    #expect(try browser.shows("\(text("#figures")).includes('302')"))
    try press(
      "ArrowDown", "ArrowDown", "Enter", shows: "\(text("#entry pre")) === 'value 1002'",
      "document.activeElement.id === 'entry'")
    try press("Escape", shows: "document.activeElement.id === 'list'")
    try press("End", shows: "document.querySelectorAll('.row').length === 302")
    try press("/", shows: "document.activeElement.id === 'search'")
    try browser.type("USER")
    #expect(try browser.shows("document.querySelectorAll('.row').length === 2"))
    try press(
      "Enter", shows: "document.activeElement.id === 'list'", "document.querySelector('.row[aria-selected=true]')")
    try press("Enter", shows: "\(text("#entry pre")).includes('\\n  \"name\": \"Ada\"')")
    try press(
      "Escape", "ArrowDown", "Enter", shows: "document.querySelector('#entry img')?.naturalWidth === 1",
      "\(text("#entry")).includes('1 × 1 pixels')")
    try press("?", shows: "document.getElementById('help-dialog').open")
    try press("Escape", shows: "!document.getElementById('help-dialog').open")
    // The map, then back to the list through a prefix.
    try press("2", shows: "document.querySelectorAll('.area').length === 2")
    _ = try browser.value("document.querySelector('.area').focus()")
    // The map is redrawn after counting, which takes longer than the switch.
    try press(
      "Enter", shows: "\(text("#size-crumbs")) === 'All keyskey:'", "\(text("#counted")).startsWith('300 entries')",
      "document.activeElement.matches('.area')")
    try press(
      "Enter",
      shows: "!document.getElementById('entries').hidden && document.getElementById('prefix').value === 'key:'",
      "document.querySelectorAll('.row').length === 200")
    try press("3", shows: "document.querySelectorAll('#charts .chart').length === 4")
    let isShown = try eventually {
      for _ in 0..<100 { _ = try cache.value(String.self, forKey: "user:1") }
      usleep(100_000)
      // A second without reads has no hit ratio.
      return try browser.value(
        "document.querySelectorAll('#charts .curve').length > 2 && \(text("#figures")).includes('100.0 %')") as? Bool
        == true
    }
    #expect(isShown)
    #expect(try browser.text(text("#processes")).contains("\(getpid())"))
    try cache.close()
    try expectPeace(browser, session)
  }

  /// Hostile contents are shown as text and never executed.
  @Test func nothingInACacheCanScriptThePage() throws {
    let attacks = [
      "<img src=x onerror=alert(1)>", "\u{202E}exe.fdp", "</script><script>window.attacked=1</script>",
      "<svg onload=window.attacked=1>", "{{constructor.constructor('window.attacked=1')()}}",
      "<iframe srcdoc='<script>parent.attacked=1</script>'>", "<style>*{display:none}</style>",
      "<base href=//example.org/>", "<meta http-equiv=refresh content='0;url=https://example.org/'>",
      "<link rel=stylesheet href=//example.org/x.css>", "__proto__", "constructor",
    ]
    try scratch.fill { cache in
      for attack in attacks {
        try cache.set(attack, forKey: attack)
        try cache.set(Data("<html><body onload=window.attacked=1>\(attack)".utf8), forKey: "bytes:" + attack)
        try cache.set([attack: attack], forKey: "map/" + attack)
        try cache.set("{\"\(attack.filter { $0 != "\"" && $0 != "\\" })\": 1}", forKey: "json:" + attack + ":x")
      }
      try cache.set(Data("<svg xmlns='http://www.w3.org/2000/svg' onload='window.attacked=1'/>".utf8), forKey: "svg")
      // An image by its first bytes, and a page by the rest.
      try cache.set(Data("GIF89a<script>window.attacked=1</script>".utf8), forKey: "gif")
    }
    let (session, browser) = try opened()
    let count = 4 * attacks.count + 2
    #expect(try browser.shows("document.querySelectorAll('.row').length === \(count)"))
    #expect(try browser.value("document.querySelectorAll('#list *:not(div):not(span)').length") as? Int == 0)
    #expect(try browser.text("document.getElementById('list').textContent").contains("<img src=x onerror=alert(1)>"))
    #expect(try browser.text("document.getElementById('list').textContent").contains("\\u{202E}exe.fdp"))
    try browser.press("Home")
    for index in 0..<count {
      try browser.press("Enter")
      #expect(
        try browser.shows(
          "document.querySelector('#row-\(index)').getAttribute('aria-selected') === 'true' && document.querySelector('#entry .choices')"
            + " && document.querySelector('#entry h2').textContent === document.querySelector('#row-\(index) .key').textContent"
        ))
      _ = try browser.value("document.querySelectorAll('#entry .choices button').forEach((button) => button.click())")
      #expect(
        try browser.value(
          "document.querySelectorAll('#entry :is(script, iframe, svg, style, link, meta, base)').length") as? Int == 0)
      try browser.press("Escape")
      try browser.press("ArrowDown")
    }
    try browser.press("2")
    #expect(try browser.shows("document.querySelector('.area')"))
    #expect(try browser.value("window.attacked === undefined && location.href") as? String == session.address)
    #expect(
      try browser.value("document.querySelectorAll('iframe, base, object, embed, body style').length") as? Int == 0)
    #expect(try browser.value("document.querySelectorAll('script').length") as? Int == 1)
    try expectPeace(browser, session)
  }

  private func isAsked(_ browser: Browser) throws -> Bool {
    try browser.shows("document.getElementById('question-dialog').open")
  }

  /// The number of posts, after the page has handled all earlier input.
  private func postCount(_ browser: Browser) throws -> Int {
    #expect(try browser.value("fetch('api/summary').then((response) => response.ok)") as? Bool == true)
    return browser.requests.count { $0.method == "POST" }
  }

  /// A question is answered by a deliberate key or click alone, and removes the entry that it is about.
  @Test func anEntryIsRemovedByADeliberateAnswer() throws {
    try scratch.fill(300)
    let (session, browser) = try opened(isWritable: true)
    // Counts answers after the dialog has closed; before that the page asks nothing.
    _ = try browser.value(
      """
      window.answers = 0
      document.getElementById('question-dialog').addEventListener('close', () => { answers += 1 })
      """)
    let button = "#entry button.danger"
    try browser.press("Home")
    for (number, answer) in ["Escape", "Enter"].enumerated() {
      // The safe answer has the focus, and a held key asks once.
      try browser.press("Delete", repeats: 30)
      #expect(try isAsked(browser))
      #expect(try browser.text("document.getElementById('question-key').textContent") == "key:1000")
      try browser.press(answer)
      #expect(try browser.shows("answers === \(number + 1)"))
    }
    // A late second click began before the question was readable.
    try browser.press("Enter")
    #expect(try browser.shows("document.querySelector('\(button)')"))
    try browser.click(on: button, counts: [1, 2])
    #expect(try isAsked(browser))
    try browser.click(on: "#question-yes", counts: [2])
    #expect(try postCount(browser) == 3 && isAsked(browser))
    try browser.press("Escape")
    #expect(try browser.shows("answers === 3"))
    #expect(try session.get("api/entry?key=key%3A1000").status == 200)
    // The removed entry need not be the selected one.
    for key in ["Escape", "ArrowDown", "ArrowDown", "ArrowDown"] { try browser.press(key) }
    try browser.click(on: button)
    #expect(try isAsked(browser))
    // A double click confirms once.
    try browser.click(on: "#question-yes", counts: [1, 2])
    #expect(try browser.shows("document.querySelector('.row').textContent.startsWith('key:1001')"))
    #expect(try postCount(browser) == 5)
    #expect(try session.get("api/entry?key=key%3A1000").status == 404)
    #expect(try session.get("api/entry?key=key%3A1001").status == 200)
    // The second click may have requested the removed entry.
    #expect(browser.troubles.allSatisfy { $0.contains("404") }, "\(browser.troubles)")
  }
}
