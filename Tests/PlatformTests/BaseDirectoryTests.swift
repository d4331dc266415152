import Platform
import Testing

@Suite struct BaseDirectoryTests {
  @Test(arguments: [
    (BaseDirectory.caches, ["HOME": "/home"], "/home/.cache"), (.configuration, ["HOME": "/home"], "/home/.config"),
    (.data, ["HOME": "/home"], "/home/.local/share"), (.data, ["HOME": "/home", "XDG_DATA_HOME": "/data"], "/data"),
    // A relative path is ignored.
    (.caches, ["HOME": "/home", "XDG_CACHE_HOME": "relative"], "/home/.cache"),
    (.caches, ["HOME": "/home", "XDG_CACHE_HOME": ""], "/home/.cache"),
    (.caches, ["HOME": "relative", "XDG_CACHE_HOME": "/caches"], "/caches"),
  ])
  func variablesComeFirst(_ directory: BaseDirectory, _ variables: [String: String], _ path: String) {
    #expect(directory.path { variables[$0] } == path)
  }

  @Test(arguments: [[:], ["HOME": ""], ["HOME": "relative"]])
  func withoutHomeThePasswordDatabaseCounts(_ variables: [String: String]) {
    let home = getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) }
    #expect(BaseDirectory.home { variables[$0] } == home)
  }
}
