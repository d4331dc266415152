import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Drives the page of `serve` in a browser with the keyboard. Serialized, since each test starts a browser.
@Suite(.serialized, .ownThreads, .enabled(if: Browser.path != nil, "no Chromium is installed"))
struct InspectorPageTests {
  let scratch = try! Scratch()

  private func fillSome() throws {
    try scratch.fill { cache in
      for number in 1_000..<1_300 { try cache.set("value \(number)", forKey: "key:\(number)") }
      try cache.set(#"{"name":"Ada"}"#, forKey: "user:1")
    }
  }

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
    let others = browser.requests.filter { !$0.hasPrefix(session.address) && $0 != "about:blank" }
    #expect(others == [] && browser.requests.count > 10)
  }

  @Test func thePageIsUsedByKeysAlone() throws {
    try fillSome()
    let (session, browser) = try opened()
    #expect(try browser.shows("document.getElementById('figures').textContent.includes('301')"))
    try browser.press("ArrowDown")
    try browser.press("ArrowDown")
    try browser.press("Enter")
    #expect(try browser.shows("document.querySelector('#entry pre')?.textContent === 'value 1002'"))
    #expect(try browser.text("document.activeElement.id") == "entry")
    try browser.press("Escape")
    #expect(try browser.text("document.activeElement.id") == "list")
    try browser.press("End")
    #expect(try browser.shows("document.querySelectorAll('.row').length === 301"))
    try browser.press("/")
    #expect(try browser.text("document.activeElement.id") == "search")
    try browser.type("USER")
    #expect(try browser.shows("document.querySelectorAll('.row').length === 1"))
    try browser.press("Enter")
    #expect(try browser.shows("document.activeElement.id === 'list'"))
    #expect(try browser.shows("document.querySelector('.row[aria-selected=true]')"))
    try browser.press("Enter")
    #expect(try browser.shows("document.querySelector('#entry pre')?.textContent.includes('\\n  \"name\": \"Ada\"')"))
    try browser.press("?")
    #expect(try browser.shows("document.getElementById('help-dialog').open"))
    try browser.press("Escape")
    #expect(try browser.shows("!document.getElementById('help-dialog').open"))
    // The map, then back to the list through a prefix.
    try browser.press("2")
    #expect(try browser.shows("document.querySelectorAll('.area').length === 2"))
    _ = try browser.value("document.querySelector('.area').focus()")
    try browser.press("Enter")
    #expect(try browser.shows("document.getElementById('size-crumbs').textContent === 'All keyskey:'"))
    // The map is redrawn after counting, which takes longer than the switch.
    #expect(
      try browser.shows(
        "document.getElementById('counted').textContent.startsWith('300 entries') && "
          + "document.activeElement.matches('.area')"))
    try browser.press("Enter")
    #expect(
      try browser.shows(
        "!document.getElementById('entries').hidden && document.getElementById('prefix').value === 'key:'"))
    #expect(try browser.shows("document.querySelectorAll('.row').length === 200"))
    try browser.press("3")
    #expect(try browser.shows("document.querySelectorAll('#charts .chart').length === 4"))
    try expectPeace(browser, session)
  }

  /// Hostile contents are shown as text and never executed.
  @Test func nothingInACacheCanScriptThePage() throws {
    let attacks =
      ServeTests.hostile + [
        "<script>window.attacked=1</script>", "<svg onload=window.attacked=1>",
        "{{constructor.constructor('window.attacked=1')()}}",
        "<iframe srcdoc='<script>parent.attacked=1</script>'>", "<style>*{display:none}</style>",
        "<base href=//example.org/>",
        "<meta http-equiv=refresh content='0;url=https://example.org/'>",
        "<link rel=stylesheet href=//example.org/x.css>",
        "__proto__", "constructor",
      ]
    try scratch.fill { cache in
      for attack in attacks {
        try cache.set(attack, forKey: attack)
        try cache.set(Data("<html><body onload=window.attacked=1>\(attack)".utf8), forKey: "bytes:" + attack)
        try cache.set([attack: attack], forKey: "map/" + attack)
        try cache.set("{\"\(attack.filter { $0 != "\"" && $0 != "\\" })\": 1}", forKey: "json:" + attack + ":x")
      }
      try cache.set(
        Data(
          "<svg xmlns='http://www.w3.org/2000/svg' onload='window.attacked=1'><script>window.attacked=1</script></svg>"
            .utf8), forKey: "svg")
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

  private static let png = Data(
    base64Encoded:
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")!

  /// A question is answered by a deliberate key or click alone, and removes the entry that it is about.
  @Test func anEntryIsRemovedByADeliberateAnswer() throws {
    try fillSome()
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
      // The safe answer has the focus.
      try browser.press("Delete")
      #expect(try isAsked(browser))
      #expect(try browser.text("document.getElementById('question-key').textContent") == "key:1000")
      try browser.press(answer)
      #expect(try browser.shows("answers === \(number + 1)"))
    }
    // A held or repeated key and a late second click began before the question was readable.
    try browser.press("Enter")
    #expect(try browser.shows("document.querySelector('\(button)')"))
    try browser.click(on: button, counts: [1, 2])
    #expect(try isAsked(browser))
    try browser.click(on: "#question-yes", counts: [2])
    #expect(try postCount(browser) == 3)
    #expect(try isAsked(browser))
    try browser.press("Escape")
    #expect(try browser.shows("answers === 3"))
    _ = try browser.value("document.querySelector('\(button)').focus()")
    try browser.press("Enter", repeats: 100)
    #expect(try isAsked(browser))
    #expect(try postCount(browser) == 4)
    try browser.press("Escape")
    #expect(try browser.shows("answers === 4"))
    #expect(try session.get("api/entry?key=key%3A1000").status == 200)
    // The removed entry need not be the selected one.
    for key in ["Escape", "ArrowDown", "ArrowDown", "ArrowDown"] { try browser.press(key) }
    try browser.click(on: button)
    #expect(try isAsked(browser))
    try browser.press("Tab")
    try browser.press("Enter")
    #expect(try browser.shows("document.querySelector('.row').textContent.startsWith('key:1001')"))
    let chosen = "[...document.querySelectorAll('.row[aria-selected=true] .key')].map((key) => key.textContent).join()"
    #expect(try browser.text(chosen) == "key:1003")
    #expect(try session.get("api/entry?key=key%3A1000").status == 404)
    #expect(try session.get("api/entry?key=key%3A1001").status == 200)
    try expectPeace(browser, session)
  }

  /// Ways to answer faster than the server does.
  enum Haste: String, CaseIterable, Sendable {
    case doubleClick, clicksAtOnce, enterTwice, heldEnter

    func confirm(in browser: Browser) throws {
      switch self {
      case .doubleClick: try browser.click(on: "#question-yes", counts: [1, 2])
      case .clicksAtOnce:
        let click = "document.getElementById('question-yes').click()"
        _ = try browser.value("\(click); \(click)")
      case .enterTwice:
        for key in ["Tab", "Enter", "Enter"] { try browser.press(key) }
      case .heldEnter:
        try browser.press("Tab")
        try browser.press("Enter", repeats: 30)
      }
    }
  }

  private func isAsked(_ browser: Browser, within limit: Duration = .seconds(60)) throws -> Bool {
    try browser.shows("document.getElementById('question-dialog').open", within: limit)
  }

  /// The number of posts, after the page has handled all earlier input.
  private func postCount(_ browser: Browser) throws -> Int {
    #expect(try browser.value("fetch('api/summary').then((response) => response.ok)") as? Bool == true)
    return browser.postCount
  }

  @Test(arguments: Haste.allCases) func whoConfirmsTwiceRemovesOneEntry(_ haste: Haste) throws {
    try fillSome()
    let (session, browser) = try opened(isWritable: true)
    try browser.press("Home")
    try browser.press("Delete", repeats: 30)
    try browser.press("Delete")
    #expect(try isAsked(browser))
    #expect(try browser.text("document.getElementById('question-key').textContent") == "key:1000")
    #expect(try postCount(browser) == 1)
    try haste.confirm(in: browser)
    #expect(try browser.shows("document.querySelector('.row').textContent.startsWith('key:1001')"))
    #expect(try postCount(browser) == 2)
    #expect(try browser.value("document.getElementById('question-dialog').open") as? Bool == false)
    #expect(try session.get("api/entry?key=key%3A1000").status == 404)
    // If the second press opened the next entry, the keys go there first.
    let asksAgain = try eventually {
      for key in ["Escape", "Home", "Delete"] { try browser.press(key) }
      return try isAsked(browser, within: .seconds(2))
    }
    #expect(asksAgain)
    #expect(try browser.text("document.getElementById('question-key').textContent") == "key:1001")
    try browser.press("Escape")
    #expect(try browser.shows("!document.getElementById('question-dialog').open"))
    #expect(try session.get("api/entry?key=key%3A1001").status == 200)
    #expect(try browser.value("document.querySelectorAll('.row[aria-selected=true]').length") as? Int == 1)
    // The second press may have requested the removed entry.
    #expect(browser.troubles.allSatisfy { $0.contains("404") }, "\(browser.troubles)")
  }

  @Test func anImageAndWhatProcessesDoAreShown() throws {
    var configuration = CacheConfiguration()
    configuration.disk.mapSize = 1 << 26
    let cache = try LMDBCache(directory: URL(fileURLWithPath: scratch.cache), configuration: configuration)
    try cache.set(Self.png, forKey: "image")
    try cache.set("value", forKey: "key")
    try cache.flush()
    let (session, browser) = try opened()
    try browser.press("Home")
    try browser.press("Enter")
    #expect(try browser.shows("document.querySelector('#entry img')?.naturalWidth === 1"))
    #expect(try browser.shows("document.querySelector('#entry').textContent.includes('1 × 1 pixels')"))
    try browser.press("Escape")
    try browser.press("3")
    let isShown = try eventually {
      for _ in 0..<100 { _ = try cache.value(String.self, forKey: "key") }
      usleep(100_000)
      // A second without reads has no hit ratio.
      return try browser.value(
        "document.querySelectorAll('#charts .curve').length > 2"
          + " && document.getElementById('figures').textContent.includes('100.0 %')") as? Bool == true
    }
    #expect(isShown)
    #expect(try browser.text("document.getElementById('processes').textContent").contains("\(getpid())"))
    try cache.close()
    try expectPeace(browser, session)
  }
}
