import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Named pipes, on which `open(2)` would block.
@Suite struct PipeTests {
  let directory = CacheDirectory()

  static let places = CacheFileName.files.map(\.rawValue) + ["values/pipe", "journals/pipe.journal", "pipe"]

  private func makePipe(_ name: String) throws {
    let path = directory.path + "/" + name
    try? FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    #expect(mkfifo(path, 0o600) == 0)
    let long = Date(timeIntervalSince1970: 1_000_000_000)
    try FileManager.default.setAttributes([.modificationDate: long], ofItemAtPath: path)
  }

  @Test(arguments: places, [true, false]) func nobodyWaitsAtAPipe(_ place: String, _ isCache: Bool) throws {
    for durability in [Durability.ordered, .fast] {
      try? FileManager.default.removeItem(atPath: directory.path)
      try FileManager.default.createDirectory(
        atPath: directory.path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      if isCache {
        let cache = try directory.open { $0.durability = durability }
        try cache.set(Data(count: 2 << 20), forKey: "large")
        try cache.close()
      }
      try makePipe(place)
      let outcome = try BoundedProcess.run(
        "CacheTestProcess",
        input: [
          "open \(directory.path) durability=\(durability.rawValue) wall=1800000000000000000", "set key v", "flush",
          "sweep",
          "maintain", "get key", "close", "exit",
        ], within: 60)
      #expect(outcome.isOrderly, "\(durability): \(outcome)")
      // A stray pipe is ignored; one in place of a cache file may be refused.
      if isCache && place.contains("pipe") {
        #expect(outcome.answers.filter { $0 != "ok" } == ["v"], "\(durability): \(outcome)")
      }
    }
  }
}
