import Foundation
import TestSupport
import Testing

@Suite(.ownThreads) struct CompletionTests {
  let scratch: Scratch
  /// The user's cache and data directories, with a cache in each.
  let environment: [String: String]

  init() async throws {
    scratch = try Scratch()
    environment = [
      "XDG_CACHE_HOME": scratch.path("caches"), "XDG_DATA_HOME": scratch.path("data"),
      "PATH": Tool.executable.deletingLastPathComponent().path + ":/usr/bin:/bin", "HOME": scratch.path("home"),
    ]
    for name in ["caches/app/thumbnails", "data/app/settings"] {
      try await scratch.expect("$ set key value --cache @\(name)")
    }
    for name in [
      "caches/app/empty/x", "places/a b/x", "places/a:b/x", "places/$(touch ran)/x", "places/`touch ran`/x",
      "places/.hidden/x", "places/back\\slash/x", "places/it's/x", "places/two\nlines/x", "places/file",
    ] { try scratch.file(name, Data()) }
  }

  /// The tool's candidates for the last word, requested as a shell's script does.
  private func expect(
    _ shell: String, _ candidates: [String], for word: String, of arguments: [String] = ["get", "key", "--cache"]
  ) async throws {
    let words = ["lmdb-cache"] + arguments + [word]
    let kind = arguments.last == "--cache" ? "--cache" : "positional@0"
    let result = try await Tool.run(
      ["---completion", arguments[0], "--", kind, "\(words.count - 1)", "\(word.count)"] + words,
      environment: environment.merging(["SAP_SHELL": shell]) { $1 })
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.text.split(separator: "\n").map(String.init) == candidates, "\(word)")
  }

  /// Words are as the user types them: escaped or quoted. The zsh script drops the last line.
  @Test func candidatesAreAsEachShellWantsThem() async throws {
    let places = scratch.path("places") + "/"
    for (word, candidates) in [
      ("", ["settings", "thumbnails", "./"]), ("empty", []), (".", ["./", "../"]),
      (places + ".h", [places + ".hidden/"]),
      (places + "a\\ ", [places + "a b/"]), ("\"\(places)a ", [places + "a b/"]), (scratch.path("nowhere") + "/", []),
    ] as [(String, [String])] { try await expect("fish", candidates, for: word) }
    try await expect("fish", ["settings"], for: "s", of: ["verify"])
    try await expect("bash", [places + "\\$\\(touch\\ ran\\)"], for: places + "$")
    try await expect("zsh", [places + "a\\:b/", " "], for: places + "a:")
  }

  /// Runs the installed script in the shell, which expands the candidates.
  @Test func bashOffersTheSameAndRunsNothing() async throws {
    let script = try await Tool.run(["--generate-completion-script", "bash"])
    let path = try scratch.file("script", script.output)
    let driver = """
      cd "$1"; source "$2"; shift 2
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
      _lmdb-cache lmdb-cache "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    func offered(_ words: String...) throws -> Set<String> {
      let shell = try ChildProcess(
        URL(fileURLWithPath: "/bin/bash"),
        ["-c", driver, "driver", scratch.path("places"), path, "lmdb-cache"] + words,
        environment: environment)
      return Set(shell.readRemaining())
    }
    #expect(try offered("get", "key", "--cache", "") == ["settings", "thumbnails", "./"])
    #expect(
      try offered("get", "key", "--cache", "./")
        == ["./$(touch ran)", "./`touch ran`", "./a b", "./a:b", "./back\\slash", "./it's"])
    #expect(try offered("get", "key", "--cache", "./a\\ ") == ["./a b"])
    #expect(try offered("verify", "th") == ["thumbnails"])
    #expect(try offered("set", "key", "--file", "fi") == ["file"])
    #expect(try offered("replay", "file", "--format", "") == ["u32be", "text"])
    #expect(try offered("get", "key", "--ca") == ["--cache"])
    #expect(try offered("veri") == ["verify"])
    #expect(try !scratch.names.contains("ran") && !FileManager.default.fileExists(atPath: scratch.path("places/ran")))
  }
}
