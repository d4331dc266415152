import Foundation
import Testing

@Suite struct VersionTests {
  /// The last numbered section, which is the released or the coming version.
  @Test func theToolSaysTheVersionOfTheChangelog() async throws {
    let file = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../CHANGELOG.md").standardizedFileURL
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    let latest = try #require(lines.first { $0.hasPrefix("## [") && !$0.hasPrefix("## [Unreleased]") })
    let version = latest.dropFirst(4).prefix { $0 != "]" }
    #expect(try await Tool.run("--version").text == "\(version)\n")
  }
}
