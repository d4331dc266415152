import Foundation
import LMDBCaching
import Testing

/// `verify`
@Suite struct VerifyTests {
  let scratch = try! Scratch()

  private var data: URL { URL(fileURLWithPath: scratch.cache + "/data.mdb") }

  private func fill() throws {
    let cache = try DiskCache(directory: URL(fileURLWithPath: scratch.cache))
    for number in 0..<500 { try cache.set("value", forKey: "key:\(1000 + number)") }
    try cache.close()
  }

  private struct Summary: Decodable { let pages, leafPages, bytes: Int }

  @Test func aSoundCache() async throws {
    try fill()
    let before = try Data(contentsOf: data)
    let result = try await Tool.run("verify", scratch.cache)
    #expect(result.status == 0 && result.text.contains("sound"), "\(result.errors)")
    let summary: Summary = try await Tool.run("verify", "--json", scratch.cache).json()
    #expect(summary.bytes == before.count && summary.leafPages > 2 && summary.pages > summary.leafPages)
    #expect(try Data(contentsOf: data) == before)
  }

  /// Whatever looks at it, or changes an entry of it: it is not made anew.
  @Test(arguments: [
    ["ls"], ["get", "key:1000"], ["stat"], ["rm", "key:1000"], ["trim", "--count", "1"], ["clear"],
    ["set", "key", "value"],
  ])
  func noCommandMakesADamagedCacheAnew(_ words: [String]) async throws {
    try fill()
    var bytes = try Data(contentsOf: data)
    bytes.removeLast(bytes.count / 2)
    try bytes.write(to: data)
    for _ in 0..<2 {
      let result = try await Tool.run(words + ["--cache", scratch.cache])
      #expect(result.status == 65)
      #expect(result.output.isEmpty)
      #expect(result.errors.contains("damaged") && result.errors.contains("Nothing was changed"), "\(result.errors)")
      #expect(try Data(contentsOf: data) == bytes)
      let names = try FileManager.default.contentsOfDirectory(atPath: scratch.cache)
      #expect(!names.contains { $0.hasPrefix("quarantine") })
    }
    // Whoever owns it gets over it.
    let cache = try DiskCache(directory: URL(fileURLWithPath: scratch.cache))
    #expect(cache.statistics.recoveries == 1)
    try await cache.close()
  }

  @Test func aDamagedCacheIs65AndIsLeftAsItIs() async throws {
    try fill()
    var bytes = try Data(contentsOf: data)
    bytes.removeLast(bytes.count / 2)
    try bytes.write(to: data)
    let names = try FileManager.default.contentsOfDirectory(atPath: scratch.cache).sorted()
    let result = try await Tool.run("verify", scratch.cache)
    #expect(result.status == 65)
    #expect(result.output.isEmpty)
    #expect(result.errors.contains("page ") && result.errors.contains("truncated"), "\(result.errors)")
    #expect(try Data(contentsOf: data) == bytes)
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.cache).sorted() == names)
    // The next program to open it sets it aside.
    let cache = try DiskCache(directory: URL(fileURLWithPath: scratch.cache))
    try await cache.close()
    #expect(try await Tool.run("verify", scratch.cache).status == 0)
  }

  @Test func aCacheThatIsOpenIs75() async throws {
    try fill()
    let cache = try DiskCache(directory: URL(fileURLWithPath: scratch.cache))
    let result = try await Tool.run("verify", scratch.cache)
    #expect(result.status == 75)
    #expect(result.errors.contains("open"))
    try await cache.close()
    #expect(try await Tool.run("verify", scratch.cache).status == 0)
  }

  @Test func withoutACacheIs66() async throws {
    let result = try await Tool.run("verify", scratch.cache)
    #expect(result.status == 66)
    #expect(try scratch.names.isEmpty)
  }
}
