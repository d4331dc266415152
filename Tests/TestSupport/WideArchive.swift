package import Foundation

/// XML archives of `NSKeyedArchiver` with many references to an object that has very many keys.
package enum WideArchive: CaseIterable, Sendable {
  /// An object with a long class description.
  case classDescription
  case object

  /// An array of 60,000 references to the object.
  package var data: Data {
    let keys = (0..<20_000).map { "<key>k\($0)</key><true/>" }.joined()
    func uid(_ number: Int) -> String { "<dict><key>CF$UID</key><integer>\(number)</integer></dict>" }
    let elements = String(repeating: uid(2), count: 60_000)
    let objects = [
      "<string>$null</string>",
      "<dict><key>$class</key>\(uid(4))<key>NS.objects</key><array>\(elements)</array></dict>",
      "<dict><key>$class</key>\(uid(3))\(self == .object ? keys : "")</dict>",
      "<dict><key>$classname</key><string>NSNull</string>\(self == .classDescription ? keys : "")</dict>",
      "<dict><key>$classname</key><string>NSArray</string></dict>",
    ]
    return Data(
      ("<plist><dict><key>$archiver</key><string>NSKeyedArchiver</string><key>$version</key><integer>100000</integer>"
        + "<key>$top</key><dict><key>root</key>\(uid(1))</dict><key>$objects</key><array>\(objects.joined())</array>"
        + "</dict></plist>").utf8)
  }
}
