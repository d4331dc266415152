import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A headless Chromium with one page, driven by its DevTools protocol over two pipes. Ends when released.
final class Browser {
  /// `nil` if none is installed.
  static let path: String? = {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    return names.lazy.flatMap { name in folders.map { "\($0)/\(name)" } }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  private let process: LaunchedProcess
  private let scratch: Scratch
  private let commands = Pipe()
  private let answers = Pipe()
  private var received = Data()
  private var number = 0
  private var session: String?
  /// Events received while waiting for replies.
  private(set) var events: [(method: String, parameters: [String: Any])] = []

  init() throws {
    scratch = try Scratch()
    // The protocol uses descriptors 3 and 4. No sandbox, since it cannot be created everywhere and the pages are ours.
    process = try LaunchedProcess(
      URL(fileURLWithPath: "/bin/sh"),
      [
        "-c", #"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#, try #require(Self.path), "--headless=new",
        "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run",
        "--disable-background-networking", "--user-data-dir=\(scratch.url.path)", "--window-size=1280,860",
        "about:blank",
      ], input: commands.fileHandleForReading, output: answers.fileHandleForWriting, errors: .nullDevice)
    try commands.fileHandleForReading.close()
    try answers.fileHandleForWriting.close()
    let target = try call("Target.createTarget", ["url": "about:blank"])
    let attached = try call("Target.attachToTarget", ["targetId": target["targetId"] ?? "", "flatten": true])
    session = attached["sessionId"] as? String
    for domain in ["Page", "Runtime", "Log", "Network"] { try call("\(domain).enable") }
  }

  deinit {
    // Kill its process group, which includes its children.
    kill(-process.identifier, SIGKILL)
    process.wait()
  }

  // MARK: The protocol

  @discardableResult func call(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
    number += 1
    var message: [String: Any] = ["id": number, "method": method, "params": parameters]
    if let session { message["sessionId"] = session }
    try commands.fileHandleForWriting.write(contentsOf: try JSONSerialization.data(withJSONObject: message) + [0])
    while true {
      let answer = try next()
      if answer["id"] as? Int == number {
        try #require(answer["error"] == nil, "\(method): \(answer)")
        return answer["result"] as? [String: Any] ?? [:]
      }
      if let method = answer["method"] as? String {
        events.append((method, answer["params"] as? [String: Any] ?? [:]))
      }
    }
  }

  private func next() throws -> [String: Any] {
    while true {
      if let end = received.firstIndex(of: 0) {
        let message = received[..<end]
        received = Data(received[(end + 1)...])
        return try #require(try JSONSerialization.jsonObject(with: message) as? [String: Any])
      }
      var wait = pollfd(fd: answers.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
      try #require(poll(&wait, 1, 120_000) > 0, "the browser says nothing")
      let more = answers.fileHandleForReading.availableData
      try #require(!more.isEmpty, "the browser has ended")
      received += more
    }
  }

  // MARK: The page

  func open(_ address: String) throws {
    try call("Page.navigate", ["url": address])
    #expect(try shows("document.readyState === 'complete'"))
  }

  func value(_ expression: String) throws -> Any? {
    let result = try call(
      "Runtime.evaluate", ["expression": expression, "returnByValue": true, "awaitPromise": true])
    try #require(result["exceptionDetails"] == nil, "\(expression): \(result)")
    return (result["result"] as? [String: Any])?["value"]
  }

  func text(_ expression: String) throws -> String { try value(expression) as? String ?? "" }

  func shows(_ expression: String) throws -> Bool {
    try eventually {
      usleep(20_000)
      return try value("Boolean(\(expression))") as? Bool == true
    }
  }

  /// - Parameter repeats: How often a held key repeats.
  func press(_ key: String, repeats: Int = 0) throws {
    let codes = ["Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowDown": 40, "Delete": 46]
    var event: [String: Any] = [
      "type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": codes[key] ?? 0,
    ]
    if key.count == 1 || key == "Enter" { event["text"] = key == "Enter" ? "\r" : key }
    try call("Input.dispatchKeyEvent", event)
    event["autoRepeat"] = true
    for _ in 0..<repeats { try call("Input.dispatchKeyEvent", event) }
    event["autoRepeat"] = nil
    event["type"] = "keyUp"
    event["text"] = nil
    try call("Input.dispatchKeyEvent", event)
  }

  func type(_ text: String) throws { try call("Input.insertText", ["text": text]) }

  /// Clicks at an element's present position, even if later clicks hit something else there.
  ///
  /// - Parameter counts: The click count of each click: 1, then 2, is a double click.
  func click(on selector: String, counts: [Int] = [1]) throws {
    let place = try text(
      "(({ x, y, width, height }) => `${x + width / 2} ${y + height / 2}`)"
        + "(document.querySelector('\(selector)').getBoundingClientRect())"
    ).split(separator: " ").compactMap { Double($0) }
    try #require(place.count == 2)
    for count in counts {
      for type in ["mousePressed", "mouseReleased"] {
        try call(
          "Input.dispatchMouseEvent",
          ["type": type, "x": place[0], "y": place[1], "button": "left", "clickCount": count])
      }
    }
  }

  // MARK: What it has noticed

  /// Errors of the page, including violations of its policy, and dialogs.
  var troubles: [String] {
    events.filter { event in
      switch event.method {
      case "Runtime.exceptionThrown", "Page.javascriptDialogOpening": true
      case "Runtime.consoleAPICalled": event.parameters["type"] as? String == "error"
      case "Log.entryAdded": (event.parameters["entry"] as? [String: Any])?["level"] as? String != "verbose"
      default: false
      }
    }.map { "\($0)" }
  }

  var requests: [(method: String, address: String)] {
    events.compactMap { event in
      guard event.method == "Network.requestWillBeSent" else { return nil }
      let request = event.parameters["request"] as? [String: Any]
      return (request?["method"] as? String ?? "", request?["url"] as? String ?? "")
    }
  }
}
