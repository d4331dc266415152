import Foundation

/// The page's files, which are compiled into the program.
enum InspectorPage {
  /// The document loads only its own files, talks only to its own server, and cannot be framed. Text never becomes
  /// script or markup, whatever the files do.
  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

  private static let files: [String: (type: String, bytes: [UInt8])] = [
    "style.css": ("text/css; charset=utf-8", PackageResources.style_css),
    "icon.svg": ("image/svg+xml", PackageResources.icon_svg),
    "main.js": ("text/javascript; charset=utf-8", PackageResources.main_js),
    "dom.js": ("text/javascript; charset=utf-8", PackageResources.dom_js),
    "server.js": ("text/javascript; charset=utf-8", PackageResources.server_js),
    "entries.js": ("text/javascript; charset=utf-8", PackageResources.entries_js),
    "entry.js": ("text/javascript; charset=utf-8", PackageResources.entry_js),
    "sizes.js": ("text/javascript; charset=utf-8", PackageResources.sizes_js),
    "treemap.js": ("text/javascript; charset=utf-8", PackageResources.treemap_js),
    "activity.js": ("text/javascript; charset=utf-8", PackageResources.activity_js),
    "chart.js": ("text/javascript; charset=utf-8", PackageResources.chart_js),
    "dialogs.js": ("text/javascript; charset=utf-8", PackageResources.dialogs_js),
  ]

  static var document: HTTPResponse {
    var response = HTTPResponse(type: "text/html; charset=utf-8", Data(PackageResources.index_html))
    response.headers.append(("Content-Security-Policy", policy))
    return response
  }

  static func file(_ name: String) -> HTTPResponse? {
    files[name].map { HTTPResponse(type: $0.type, Data($0.bytes)) }
  }
}
