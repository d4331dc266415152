import LMDB
import Testing

@Suite struct LMDBErrorTests {
  @Test func describesItself() throws {
    let directory = TemporaryDirectory()
    var options = Environment.Options()
    options.mapSize = 64 << 20
    do throws(LMDBError) {
      _ = try Environment.open(directory: directory.path + "/missing", options: options)
      Issue.record("opened a missing directory")
    } catch {
      #expect(error.operation == "openat")
      #expect(error.status == 2)
      #expect(error.description.contains("openat"))
      #expect(error.description.contains(error.message))
      #expect(error.description.contains("noSuchFile"))
      #expect(error == error)
    }
  }

  @Test func systemCodesDifferByNumber() {
    #expect(LMDBError.Code.system(5) == .system(5))
    #expect(LMDBError.Code.system(5) != .system(6))
    #expect(LMDBError.Code.system(5).description == "system(5)")
  }
}
