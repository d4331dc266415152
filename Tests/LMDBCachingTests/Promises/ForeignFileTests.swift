import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Foreign files in a cache's directory, some of which replace its files.
@Suite struct ForeignFileTests {
  let directory = CacheDirectory()
  let elsewhere = CacheDirectory()

  static let refusals: Set<CacheError.Code> = [.invalidDirectory, .corruptedRecord, .permissionDenied]

  @Test(arguments: ForeignContent.allCases) func aForeignDirectoryIsRefusedAndNamed(_ content: ForeignContent) throws {
    try content.place(in: directory.path)
    let before = try TreeImage(directory.path)
    for durability in Durability.allCases {
      let code = errorCode { try directory.open { $0.durability = durability } }
      #expect(code.map(Self.refusals.contains) == true, "\(durability): \(code.map { "\($0)" } ?? "opened")")
      let after = try TreeImage(directory.path)
      #expect(before.losses(in: after) == [] && before.additions(in: after) == [])
    }
    let error = #expect(throws: CacheError.self) { try directory.open() }
    #expect(error?.message.contains(directory.path) == true)
  }

  /// A link to a file elsewhere, or a pipe on which `open(2)` would block.
  @Test(
    arguments: ["processes.lock", "clean-exit", "fast-session", "data.mdb", "lock.mdb", "journals", "values"],
    [true, false])
  func linksAreNotFollowedAndPipesNotWaitedFor(_ name: String, _ isPipe: Bool) throws {
    try directory.open().close()
    let path = directory.path + "/" + name
    try? FileManager.default.removeItem(atPath: path)
    elsewhere.write(
      Data("The victim's.\n".utf8), to: "victim" + (["journals", "values"].contains(name) ? "/letter" : ""))
    if isPipe {
      #expect(mkfifo(path, 0o600) == 0)
    } else {
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere.path + "/victim")
    }
    let before = try TreeImage(elsewhere.path)
    let outcome = try BoundedProcess.run(
      "CacheTestProcess",
      input: [
        "open \(directory.path) wall=1800000000000000000", "set key v", "big large 2097152", "flush", "sweep",
        "maintain", "get key", "close", "exit",
      ])
    #expect(outcome.isOrderly, "\(outcome)")
    let after = try TreeImage(elsewhere.path)
    #expect(before.losses(in: after) == [] && before.additions(in: after) == [], "\(outcome)")
    // An ordered cache does not use a mark of fast sessions.
    if outcome.answers.first == "ok" {
      #expect(outcome.answers.filter { $0 != "ok" } == ["v"] && (isPipe || name == "fast-session"), "\(outcome)")
    } else {
      let isNamed = Self.refusals.contains { outcome.answers.first == "error \($0)" }
      #expect(isNamed || isPipe && outcome.answers.first != "error storageFailed", "\(outcome)")
    }
  }
}
