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
    // The next to open it sets it aside.
    let list = try await Tool.run("ls", "--cache", scratch.cache)
    #expect(list.status == 0 && list.output.isEmpty, "\(list.errors)")
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
